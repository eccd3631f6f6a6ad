import type { Context, Handler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Listing } from '../../db/listing.ts';
import { verifyState } from '../control/oauth/oauth.ts';
import { AppError } from '../core/errors.ts';
import { bodyBytesMax } from '../core/json/body-document.ts';
import type { Caller } from './auth.ts';
import { authenticateConnect, browserOf } from './connect-auth.ts';
import { authenticateEmbed } from './embed-auth.ts';
import { readBody } from './gates/body-gate.ts';
import { respondOnce } from './gates/idempotency.ts';
import { type Places, readYamlBody, saysYaml, withPlaces } from './gates/yaml-body.ts';
import type { RequestFacts } from './observe.ts';
import { ResponseWithHeaders } from './response-headers.ts';
import type { AnyCaller, ApiDeps, Route } from './route.ts';
import { SeeOther } from './see-other.ts';
import { toListBody } from './stream.ts';

/** `caller` exists behind an API key only. */
export interface ApiEnv {
  Variables: RequestFacts & { caller: Caller };
}

export function serveRoute(route: Route, deps: ApiDeps): Handler<ApiEnv> {
  return async (c) => {
    const caller = await callerOf(route, c, deps);
    const serve = () => serveTo(caller, c, { route, deps });
    const orgId = c.get('orgId');
    return orgId === undefined ? serve() : deps.requests.run(orgId, serve);
  };
}

async function serveTo(
  caller: AnyCaller | null,
  c: Context<ApiEnv>,
  { route, deps }: { readonly route: Route; readonly deps: ApiDeps },
): Promise<Response> {
  const read = await readDocument(route, c.req.raw);
  if ('refused' in read) return jsonResponse(c, JSON.stringify(read.refused), route.status);
  const { document, places } = read;
  const browser = browserOf(c.req.raw.headers, deps);
  const request = { caller, browser, params: c.req.param(), query: c.req.queries(), document };
  const prepared = await withPlaces(places, () => route.prepare(request));
  const act = (given: ApiDeps) => {
    const work = () => withPlaces(places, () => prepared(given));
    const orgId = c.get('orgId');
    return orgId !== undefined && route.costly ? deps.costly.run(orgId, route.costly, work) : work();
  };
  const key = c.req.header('idempotency-key');
  if (!caller || !route.repeated || key === undefined)
    return respond(c, route, { deps, caller, result: await act(deps) });
  const { method, path } = c.req;
  const keyed = { method, path, key, document, repeated: route.repeated, status: route.status };
  const { json, replayed } = await respondOnce(deps, caller.scope, keyed, (saveResponse) =>
    act({ ...deps, saveResponse }),
  );
  if (replayed) c.header('idempotent-replayed', 'true');
  return jsonResponse(c, json, route.status);
}

interface Served {
  readonly deps: ApiDeps;
  readonly caller: AnyCaller | null;
  readonly result: unknown;
}

async function respond(c: Context<ApiEnv>, route: Route, { deps, caller, result }: Served): Promise<Response> {
  if (result instanceof SeeOther) {
    // The page that it leads to decides whether its window stays with the one that opened it.
    c.header('cross-origin-opener-policy', 'unsafe-none');
    return c.redirect(result.address, 303);
  }
  const { body, headers } = result instanceof ResponseWithHeaders ? result : { body: result, headers: {} };
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
  if (route.response.type !== 'array') return jsonResponse(c, JSON.stringify(body), route.status);
  // `Result` of route.ts: the handler of a list returns a listing.
  return respondList(c, route, { deps, caller, result: body as Listing<unknown> });
}

/** HEAD gets no rows: without a reader they would never release their place. */
async function respondList(
  c: Context<ApiEnv>,
  { status }: Route,
  { deps, caller, result }: Served & { readonly result: Listing<unknown> },
): Promise<Response> {
  if (c.req.method === 'HEAD') {
    c.header('x-total-count', String(result.total));
    return jsonResponse(c, '', status);
  }
  let end: (() => void) | undefined;
  const list = await toListBody(result, {
    onLong: () => {
      end = caller ? deps.lists.begin(caller.scope.orgId) : undefined;
    },
    onError: (error) => deps.log.error('list response aborted', { requestId: c.get('requestId'), error }),
    onEnd: () => end?.(),
  });
  c.header('x-total-count', String(list.total));
  return jsonResponse(c, list.body, status);
}

interface ReadDocument {
  readonly document: unknown;
  /** `null` unless the body is YAML. */
  readonly places: Places | null;
}

/** The body, or the endpoint's own response to an invalid one. */
async function readDocument(route: Route, request: Request): Promise<ReadDocument | { readonly refused: unknown }> {
  try {
    return await readPlacedBody(route, request);
  } catch (error) {
    if (!(route.whenInvalid && error instanceof AppError && error.code === 'validation')) throw error;
    return { refused: route.whenInvalid(error.issues ?? []) };
  }
}

async function readPlacedBody(route: Route, request: Request): Promise<ReadDocument> {
  if (route.body === undefined) return { document: undefined, places: null };
  if (route.yaml && saysYaml(request.headers)) {
    const places = await readYamlBody(request);
    return { document: places.value, places };
  }
  const whenEmpty = route.bodyOptional ? {} : undefined;
  return {
    document: await readBody(request, whenEmpty, route.longTexts && { textLengthMax: bodyBytesMax }),
    places: null,
  };
}

/** `null` for endpoints without a credential. API keys are authenticated before the route is known. */
async function callerOf(
  { auth, embedScope = 'read' }: Route,
  c: Context<ApiEnv>,
  deps: Pick<ApiDeps, 'db' | 'embed' | 'oauth' | 'countOfSession'>,
): Promise<AnyCaller | null> {
  if (auth === 'api_key') return c.get('caller');
  if (auth === 'none') return null;
  if (auth === 'oauth_state') {
    c.set('orgId', await orgOfState(c.req.query(), deps));
    return null;
  }
  const { headers } = c.req.raw;
  const caller = await (auth === 'embed_token'
    ? authenticateEmbed(deps, headers, embedScope)
    : authenticateConnect(deps, headers));
  c.set('orgId', caller.scope.orgId);
  if ('sessionId' in caller) await deps.countOfSession(caller.sessionId);
  return caller;
}

/** Refuses a forged state before the query is checked; that check reports a missing parameter, where this is undefined. */
async function orgOfState(
  { code, state, iss: _iss, ...others }: Readonly<Record<string, string>>,
  deps: Pick<ApiDeps, 'oauth'>,
): Promise<string | undefined> {
  if (!state || !(code || Object.keys(others).length > 0)) return undefined;
  return (await verifyState(deps, state)).org;
}

const jsonResponse = (c: Context, body: string | ReadableStream, status: ContentfulStatusCode): Response =>
  c.body(body, status, { 'content-type': 'application/json' });
