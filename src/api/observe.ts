import { randomUUID } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import { observations } from '../core/observations.ts';
import { workOf } from '../core/work-ids.ts';
import type { Log } from '../log.ts';

export interface RequestFacts {
  /** The caller's own if it is valid, so that one id spans several systems. */
  readonly requestId: string;
  /** Undefined until the credential is verified. */
  readonly orgId: string | undefined;
}

const saneId = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

/**
 * Gives every response an `x-request-id` and every request one log line: no query, no bodies, no headers.
 *
 * @param secretPaths prefixes of paths whose rest is a credential and is never logged.
 */
export function observe(log: Log, secretPaths: readonly string[]): MiddlewareHandler<{ Variables: RequestFacts }> {
  return async (c, next) => {
    const startedMs = performance.now();
    const given = c.req.header('x-request-id');
    const requestId = given !== undefined && saneId.test(given) ? given : randomUUID();
    c.set('requestId', requestId);
    c.header('x-request-id', requestId);
    await workOf({ requestId }, next);
    const { method } = c.req;
    const durationMs = performance.now() - startedMs;
    const orgId = c.get('orgId');
    const served = { method, route: routePath(c, -1), status: c.res.status, durationMs };
    workOf({ orgId, requestId }, () => observations.requestServed.publish(served));
    const secretBelow = secretPaths.find((prefix) => c.req.path.startsWith(prefix));
    const path = secretBelow === undefined ? c.req.path : `${secretBelow}***`;
    const facts = { requestId, orgId, method, path: path.slice(0, 500), status: c.res.status };
    const line = { ...facts, durationMs: Math.round(durationMs * 10) / 10 };
    if (path.startsWith('/api/health')) log.debug('request', line);
    else log.info('request', line);
  };
}
