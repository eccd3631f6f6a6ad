import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import * as v from 'valibot';
import type { Database } from '../../../db/schema.ts';
import { createApp } from '../../../src/api/app.ts';
import type { AppDeps, Route } from '../../../src/api/route.ts';
import { routes } from '../../../src/api/routes/index.ts';
import { serveConsole } from '../../../src/console/console.ts';
import { createOrg } from '../../../src/control/orgs/orgs.ts';
import { createSecretBox } from '../../../src/core/crypto/secret-box.ts';
import { withCompiledExpressions } from '../../../src/core/expressions/compiled-evaluator.ts';
import { createEvaluatorPool } from '../../../src/core/expressions/evaluator-pool.ts';
import { parseAllowList } from '../../../src/core/http/addresses.ts';
import { createEgressGuard } from '../../../src/core/http/egress.ts';
import { ErrorBody } from '../../../src/core/resources/error.ts';
import { createDecodeQueue } from '../../../src/core/source/decode/decode-turns.ts';
import { createLog } from '../../../src/log.ts';
import { asOneRequest, openUnderRowSecurity } from '../security/row-security.ts';
import { openTestDatabase } from './database.ts';
import { strictForm } from './strict-form.ts';

/** A response of the API, parsed. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read fields and compare them; a wrong one fails there
  readonly body: any;
}

/** What a test sends besides method and path. */
interface CallOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Null: no credential. */
  readonly apiKey?: string | null;
}

/** Sends a request with the org's key. A success that is not exactly of the declared shape throws. */
export type Call = (method: string, path: string, options?: CallOptions) => Promise<Reply>;

/** An org of the test. */
export interface TestOrg {
  readonly orgId: string;
  readonly workspaceId: string;
  readonly apiKey: string;
  readonly call: Call;
}

/** The API on a database of its own; Temporal is away, which no accepted request may notice. */
export interface TestApi extends AsyncDisposable {
  readonly app: ReturnType<typeof createApp>;
  readonly deps: AppDeps;
  readonly databaseUrl: string;
  /** Every line logged so far. */
  readonly logLines: readonly string[];
  newOrg(limits?: { readonly activeConnectionsMax?: number }): Promise<TestOrg>;
}

/** What a test has otherwise than usual. */
interface ApiOptions {
  /** In the form of `EGRESS_ALLOW`. */
  readonly allow?: string;
  readonly scheduleMinIntervalSeconds?: number;
  readonly requestsPerSecond?: number;
  readonly embed?: Partial<AppDeps['embed']>;
  readonly codec?: AppDeps['codec'];
  readonly console?: Partial<AppDeps['console']>;
  readonly publicUrl?: string;
}

/** Starts it. */
export async function startApi({
  allow = '',
  scheduleMinIntervalSeconds = 1,
  requestsPerSecond,
  embed = {},
  codec = null,
  console = {},
  publicUrl = 'http://localhost:3100',
}: ApiOptions = {}): Promise<TestApi> {
  const stack = new AsyncDisposableStack();
  const { db, url } = stack.use(await openTestDatabase());
  const logLines: string[] = [];
  const log = createLog({ level: 'debug', name: 'api', destination: { write: (line) => void logLines.push(line) } });
  const deps: AppDeps = {
    db,
    log,
    secretBox: createSecretBox([{ id: 'k1', key: randomBytes(32) }]),
    egress: createEgressGuard({ allow: parseAllowList(allow), deny: [], allowHttp: false }),
    evaluators: stack.use(withCompiledExpressions(createEvaluatorPool())),
    decodeQueue: createDecodeQueue(Number.POSITIVE_INFINITY),
    orchestrator: temporalAway,
    oauth: {
      stateKeys: [{ id: 's1', key: randomBytes(32) }],
      redirectUri: `${publicUrl}/api/v1/oauth/callback`,
    },
    publicUrl,
    embed: {
      keys: [{ id: 'e1', key: randomBytes(32) }],
      issuer: 'http://localhost:3100',
      allowedOrigins: '*',
      ...embed,
    },
    codec,
    console: { sessionKeys: [{ id: 'c1', key: randomBytes(32) }], temporalUi: null, ...console },
    defaultDestination: null,
    scheduleMinIntervalSeconds,
    requestsPerSecond: requestsPerSecond ?? null,
  };
  const app = createApp({ ...deps, db: underRowSecurity ? await openChecked(stack, db, url) : db }, serveConsole);
  const serve = app.fetch;
  app.fetch = (...request) => asOneRequest(() => serve(...request));
  const call = (apiKey: string): Call => {
    return async (method, path, { body, headers = {}, apiKey: otherKey = apiKey } = {}) => {
      const credential = otherKey === null ? {} : { authorization: `Bearer ${otherKey}` };
      const response = await app.request(path.startsWith('/api/') ? path : `/api/v1${path}`, {
        method,
        headers: { ...credential, ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      const parsed = {
        status: response.status,
        headers: response.headers,
        body: text === '' ? null : JSON.parse(text),
      };
      checkShape(method, path, parsed);
      return parsed;
    };
  };
  return {
    app,
    deps,
    databaseUrl: url,
    logLines,
    async newOrg({ activeConnectionsMax = null }: { readonly activeConnectionsMax?: number | null } = {}) {
      const { org, workspaces, apiKey } = await createOrg(deps, {
        name: 'Test',
        plan: 'standard',
        activeConnectionsMax,
      });
      const [workspace] = workspaces;
      if (!workspace) throw new Error('An org has workspaces.');
      return { orgId: org.id, workspaceId: workspace.id, apiKey: apiKey.key, call: call(apiKey.key) };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** The tests themselves keep the owner's connection: they look at several orgs. */
async function openChecked(
  stack: AsyncDisposableStack,
  owner: Kysely<Database>,
  url: string,
): Promise<Kysely<Database>> {
  const role = `${new URL(url).pathname.slice(1)}_api`;
  return stack.use(await openUnderRowSecurity(owner, url, role)).db;
}

/** Set by the project of `vitest.config.ts` that runs tests of the API once more this way. */
const underRowSecurity = process.env['TEST_ROW_SECURITY'] === '1';

const away = async (): Promise<never> => {
  throw new Error('Temporal is away');
};

const temporalAway: AppDeps['orchestrator'] = {
  startRun: away,
  restartRun: away,
  cancelRun: away,
  wakeRun: away,
  describeRun: away,
  watchRun: away,
  wakeEndpoint: away,
  noteInbound: away,
  putSchedule: away,
  dropSchedule: away,
  listSchedules: away,
  countMissedFirings: away,
};

/** The declared endpoint that a request reaches, or undefined. */
const routeOf = (method: string, path: string): Route | undefined =>
  routes.find(
    (route) =>
      route.method === method.toLowerCase() &&
      new RegExp(`^(?:/api/v1)?${route.path.replace(/:\w+/g, '[^/]+')}$`).test(path.split('?')[0] ?? ''),
  );

function checkShape(method: string, path: string, { status, body }: Reply): void {
  const route = routeOf(method, path);
  if (status >= 400 && !path.startsWith('/api/health')) v.parse(strictForm(ErrorBody), body);
  else if (route?.redirects !== undefined && status === 303) v.parse(v.null(), body);
  else if (route) v.parse(strictForm(route.response), body);
}
