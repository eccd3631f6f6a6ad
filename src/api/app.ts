import { type Context, Hono } from 'hono';
import { cors } from 'hono/cors';
import { secureHeaders } from 'hono/secure-headers';
import { findCredentials } from '../../db/queries/orgs/credentials.ts';
import { AppError } from '../core/errors.ts';
import { connectorSpecSchema } from '../core/spec/reference/json-schema.ts';
import { sharedLookUp } from '../core/work/shared-queries.ts';
import { probe, type Readiness, serviceName } from '../database-readiness.ts';
import { type AuthDeps, authenticate } from './auth.ts';
import { codecPath, serveCodec } from './codec.ts';
import { serveConnectPage } from './connect-page.ts';
import { embedTokenHeader } from './embed-auth.ts';
import { errorPagePath, linkToHelp, serveErrorPage } from './error-page.ts';
import { HttpRejection, toErrorResponse } from './errors.ts';
import { createCostlyRequests } from './gates/costly-requests.ts';
import { createListsAtOnce } from './gates/lists-at-once.ts';
import { createOrgRequests } from './gates/org-requests.ts';
import { addressOf, createRateLimits, createSessionLimit, type RateLimits } from './gates/rate-limits.ts';
import { observe } from './observe.ts';
import { renderOpenApi } from './openapi/openapi.ts';
import { createReads } from './reads.ts';
import { hookPath, serveHooks } from './receive-hook.ts';
import { serveReference } from './reference/reference.ts';
import type { ApiDeps, AppDeps, Route } from './route.ts';
import { routes } from './routes/index.ts';
import { type ApiEnv, serveRoute } from './serve-route.ts';
import { serveWidget, widgetPath } from './widget.ts';

/**
 * Default headers of responses that handlers make through their context. Taken from Hono's middleware once: per
 * request, it costs a tenth of a small response's time.
 */
const hardened = await new Hono().get('/', secureHeaders(), (c) => c.body(null)).request('/');
const safeHeaders = [...hardened.headers, ['cache-control', 'no-store'] as const];

const stopping: Readiness = { status: 'not_ready', detail: 'the process stops' };

export interface MountDeps extends ApiDeps, Omit<AuthDeps, 'db' | 'log'> {
  readonly limits: RateLimits | null;
}

/** Mounts paths outside the REST API, for example the console. */
type Mount = (app: Hono<ApiEnv>, deps: MountDeps) => void;

/** The HTTP interface. Order of checks: credential, route, body, schema, then the handler. */
export function createApp(made: AppDeps, mount?: Mount): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  const deps: ApiDeps = {
    ...made,
    reads: createReads(made.db),
    requests: createOrgRequests(),
    costly: createCostlyRequests(),
    lists: createListsAtOnce(),
    countOfSession: createSessionLimit(),
  };
  const limits = createRateLimits(deps.requestsPerSecond);
  const findCredential = sharedLookUp(
    (lookupIds) => findCredentials(deps.db, lookupIds),
    ({ lookupId }) => lookupId,
  );
  const authDeps = { ...deps, findCredential };
  const sendDocument = sender(renderOpenApi, 'application/json');

  app.use(observe(deps.log, [hookPath, codecPath]), async (c, next) => {
    for (const [name, value] of safeHeaders) c.header(name, value);
    await next();
  });
  serveWithoutKey(app, deps, sendDocument);
  mount?.(app, { ...authDeps, limits });
  for (const route of routes.filter(({ auth }) => auth !== 'api_key')) {
    if (route.auth === 'embed_token') {
      app.on([route.method.toUpperCase(), 'OPTIONS'], `/api/v1${route.path}`, forOtherOrigins(deps, route));
    }
    app.on(route.method, `/api/v1${route.path}`, serveRoute(route, deps));
  }

  app.use('/api/v1/*', async (c, next) => {
    const caller = await authenticate(authDeps, c.req.raw.headers);
    c.set('caller', caller);
    c.set('orgId', caller.scope.orgId);
    await limits?.countRequest(caller.keyId);
    await next();
  });
  app.get('/api/v1/openapi.json', sendDocument);
  for (const route of routes.filter(({ auth }) => auth === 'api_key')) {
    app.on(route.method, `/api/v1${route.path}`, serveRoute(route, deps));
  }

  refuseOtherMethods(app);
  app.notFound((c) => respondError(c, deps, noEndpoint()));
  app.onError(async (error, c) => respondError(c, deps, await limitRefusals(error, limits, c)));
  return app;
}

/** Probes, documents, files, and paths with another kind of credential. */
function serveWithoutKey(app: Hono<ApiEnv>, deps: ApiDeps, sendDocument: (c: Context) => Response): void {
  app.get('/api/health', (c) => c.json({ status: 'ok', service: serviceName }));
  app.get('/api/health/ready', async (c) => {
    const state = deps.isStopping?.() === true ? stopping : await probe(deps.db);
    return c.json(state, state.status === 'ready' ? 200 : 503);
  });
  app.get('/api/openapi.json', sendDocument);
  app.get(errorPagePath, serveErrorPage);
  serveReference(app);
  app.get('/api/connector-spec.schema.json', sender(connectorSpecSchema, 'application/schema+json'));
  serveHooks(app, deps);
  serveCodec(app, deps);
  app.get(widgetPath, serveWidget);
  serveConnectPage(app, deps);
}

/** Renders a constant document on first request: at the start it took a tenth of the time. */
function sender(render: () => unknown, type: string): (c: Context) => Response {
  let text: string | undefined;
  return (c) => c.body((text ??= JSON.stringify(render())), 200, { 'content-type': type });
}

/** Browser credentials are not allowed, since the token is in a header. */
const forOtherOrigins = ({ embed: { allowedOrigins } }: Pick<ApiDeps, 'embed'>, { method }: Pick<Route, 'method'>) =>
  cors({
    origin: allowedOrigins === '*' ? '*' : [...allowedOrigins],
    allowMethods: [method.toUpperCase()],
    allowHeaders: [embedTokenHeader],
    maxAge: 600,
  });

/** Replaces `unauthorized` by a 429 when credentials from that address are refused too often. */
async function limitRefusals(error: unknown, limits: RateLimits | null, c: Context<ApiEnv>): Promise<unknown> {
  if (!(error instanceof AppError) || error.code !== 'unauthorized') return error;
  try {
    await limits?.countRefused(addressOf(c));
    return error;
  } catch (tooOften) {
    return tooOften;
  }
}

function respondError(c: Context<ApiEnv>, { log }: ApiDeps, error: unknown): Response {
  const requestId = c.get('requestId');
  const { status, body, headers, unexpected } = toErrorResponse(error, requestId);
  if (unexpected) log.error('request failed', { requestId, error });
  return c.json(body, status, { ...headers, link: linkToHelp(body.error.code) });
}

const noEndpoint = (): HttpRejection =>
  new HttpRejection('unknown_path', 'There is no such endpoint: GET /api/openapi.json lists them.');

function refuseOtherMethods(app: Hono<ApiEnv>): void {
  const endpoints = app.routes.filter(({ method }) => method !== 'ALL');
  const methodsOf = Map.groupBy(endpoints, ({ path }) => path);
  for (const [path, all] of methodsOf) {
    const methods = all.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method.toUpperCase()]));
    const allow = [...new Set(methods)].join(', ');
    app.all(path, () => {
      throw new HttpRejection('other_method', `This path allows only ${allow}.`, { headers: { allow } });
    });
  }
}
