import type { Context, Handler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Caller } from './auth.ts';
import { readBody } from './body-gate.ts';
import { answerOnce } from './idempotency.ts';
import type { RequestFacts } from './observe.ts';
import type { ApiDeps, Route } from './route.ts';
import { type ListResult, toListBody } from './stream.ts';

/** What the middlewares leave for the handlers; `caller` is set behind a credential only. */
export interface ApiEnv {
  Variables: RequestFacts & { caller: Caller };
}

/** Runs one declared endpoint: body, checks, work, answer. */
export function serveRoute(route: Route, deps: ApiDeps): Handler<ApiEnv> {
  return async (c) => {
    const caller = route.auth === 'api_key' ? c.get('caller') : null;
    const document = route.body ? await readBody(c.req.raw) : undefined;
    const act = route.prepare({ caller, params: c.req.param(), query: c.req.queries(), document });
    const key = c.req.header('idempotency-key');
    if (caller && route.repeated && key !== undefined) {
      const { method, path } = c.req;
      const request = { method, path, key, document, repeated: route.repeated };
      const answer = await answerOnce(deps.db, caller.scope, request, async () => ({
        status: route.status,
        json: JSON.stringify(await act(deps)),
      }));
      if (answer.replayed) c.header('idempotent-replayed', 'true');
      return json(c, answer.json, route.status);
    }
    const result = await act(deps);
    if (route.response.type !== 'array') return json(c, JSON.stringify(result), route.status);
    // `Result` of route.ts: the handler of a list gives one.
    const list = await toListBody(result as ListResult, (error) =>
      deps.log.error('list broke off', { requestId: c.get('requestId'), error }),
    );
    c.header('x-total-count', String(list.total));
    return json(c, list.body, route.status);
  };
}

const json = (c: Context, body: string | ReadableStream, status: ContentfulStatusCode): Response =>
  c.body(body, status, { 'content-type': 'application/json' });
