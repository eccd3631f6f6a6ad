import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { setOrgLimits } from '../../db/queries/orgs/org-limits.ts';
import { orgScope } from '../../db/scope.ts';
import type { RunRow } from '../../src/core/resources/run.ts';
import { figure } from '../support/security/figure.ts';
import { eventually } from '../support/service/eventually.ts';
import { type Stack, startStack } from '../support/service/stack.ts';
import { type Customer, connectCustomer } from '../support/sync/customer.ts';
import { type OauthServer, startOauthServer } from '../support/upstream/oauth-server.ts';
import { generateRecords, startUpstream, type Upstream } from '../support/upstream/upstream.ts';

const runs = 50;
const records = 3;
const resources = Array.from({ length: runs }, (_, index) => `r${index}`);
const started = new AsyncDisposableStack();
let oauth: OauthServer;
let upstream: Upstream;
let stack: Stack;
let customer: Customer;

beforeAll(async () => {
  oauth = started.use(await startOauthServer());
  upstream = started.use(
    await startUpstream({
      collections: { records: generateRecords(records) },
      reply: ({ headers }) =>
        oauth.isValid((headers['authorization'] ?? '').replace('Bearer ', ''))
          ? undefined
          : { status: 401, body: '{}' },
    }),
  );
  // Half of the runs in each process: one alone cannot have them all under way.
  const env = { WORKER_CONCURRENCY: String(runs / 2) };
  stack = started.use(await startStack({ allow: [upstream.hostPort, oauth.hostPort], workers: 2, env }));
  await setOrgLimits(stack.db, orgScope(stack.org.orgId), { runsAtOnce: runs });
  customer = started.use(await connectAuthorized());
});
afterEach(({ task }) => {
  if (task.result?.state === 'fail') process.stderr.write(`${stack.tails()}\n`);
});
afterAll(() => started.disposeAsync());

describe('runs of one connection in two processes', () => {
  it('ask for one new token when 50 of them are refused at once', async () => {
    upstream.pause();
    const before = oauth.requests.length;
    const ended = Promise.all(resources.map((resource) => customer.sync(resource)));
    await eventually('all of them have asked for a page', async () => asking().size === runs, { timeoutMs: 90_000 });
    oauth.revokeAll();
    upstream.resume();
    const rows = await ended;
    expect(asking((status) => status === 401).size).toBe(runs);
    const asked = oauth.requests.length - before;
    figure('tokenCalls', { count: asked, of: runs });
    expectSuccess(rows);
    expect(asked).toBe(1);
  });

  it('ask for one new token when theirs is over before they begin', async () => {
    oauth.reply = () => ({ expiresIn: 2 });
    oauth.revokeAll();
    await customer.sync('r0');
    oauth.reply = () => undefined;
    const token = (upstream.journal.at(-1)?.headers['authorization'] ?? '').replace('Bearer ', '');
    await eventually('the token is over', async () => !oauth.isValid(token));
    const before = oauth.requests.length;
    expectSuccess(await Promise.all(resources.slice(0, 10).map((resource) => customer.sync(resource))));
    expect(oauth.requests).toHaveLength(before + 1);
  });
});

/** The runs that have asked for a page, by their requests; a run that a starved machine repeats counts once. */
const asking = (replied: (status: number | null) => boolean = () => true): ReadonlySet<string> =>
  new Set(upstream.journal.filter(({ status }) => replied(status)).map(({ url }) => url));

function expectSuccess(rows: readonly RunRow[]): void {
  for (const row of rows) expect(row).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: records } });
}

async function connectAuthorized(): Promise<Customer> {
  const connected = await connectCustomer(stack, {
    document: specDocument(),
    params: {},
    secrets: { clientSecret: 'a client secret' },
    activate: false,
  });
  const { call } = stack.org;
  const { body } = await call('GET', `/oauth/${connected.connectionId}/authorize`);
  const { status } = await call('GET', (await oauth.agree(body.authorizeUrl)).replace('/api/v1', ''));
  expect(status).toBe(200);
  return connected;
}

const specDocument = () => ({
  metadata: { key: 'burst', name: 'Burst', version: '1.0.0' },
  connectionParams: [{ key: 'clientSecret', type: 'string', secret: true }],
  auth: {
    kind: 'oauth2_authorization_code',
    authorizeUrl: `${oauth.url}/authorize`,
    tokenUrl: oauth.tokenUrl,
    clientId: 'client',
    clientSecret: '{{ secrets.clientSecret }}',
  },
  http: { baseUrl: upstream.url, rateLimit: { requests: 10_000, maxConcurrent: runs }, retry: { baseMs: 10 } },
  resources: resources.map((key) => ({
    key,
    primaryKey: 'id',
    request: { path: '/cursor/records', query: { for: key } },
    response: { records: 'data' },
    target: { table: key },
  })),
});
