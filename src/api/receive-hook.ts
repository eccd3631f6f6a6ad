/** The addresses that upstreams post to, outside the versioned interface: their token is the credential. */
import type { Context, Hono } from 'hono';
import { findHooksByToken, type ReceivingHook } from '../../db/queries/hooks/hooks.ts';
import { refuseForged, scopeOfHook, takeRequest } from '../control/hooks/inbound.ts';
import { hashHookToken } from '../core/crypto/hook-token.ts';
import { found, notFound } from '../core/errors.ts';
import {
  cloudEventsHandshake,
  graphHandshake,
  type HandshakeResponse,
  hubHandshake,
  slackHandshake,
} from '../core/hooks/handshake.ts';
import { sharedLookUp } from '../core/work/shared-queries.ts';
import { HttpRejection } from './errors.ts';
import { readBytes } from './gates/body-gate.ts';
import { createInProgress } from './gates/in-progress.ts';
import { createOrgRequests } from './gates/org-requests.ts';
import type { ApiDeps } from './route.ts';
import type { ApiEnv } from './serve-route.ts';

/** Prefix of the paths. The rest is a credential and is never logged. */
export const hookPath = '/api/hooks/';

/**
 * Requests of one hook are bounded because their statements share the database connections with all other requests.
 * An upstream that sends many a second stays below it.
 */
const requestsMax = 100;

const tooManyAtOnce = (): HttpRejection =>
  new HttpRejection(
    'rate_limited',
    `The hook has ${requestsMax} requests in progress. Send this one again after a second, as Retry-After says.`,
    { headers: { 'retry-after': '1' } },
  );

type HookContext = Context<ApiEnv>;

export function serveHooks(app: Hono<ApiEnv>, deps: ApiDeps): void {
  const path = `${hookPath}:token`;
  const inProgress = createInProgress(requestsMax, tooManyAtOnce);
  // Separate from those of the API: a flood of hook requests must not block the org's own calls.
  const requests = createOrgRequests();
  const findHook = sharedLookUp(
    (hashes) =>
      findHooksByToken(
        deps.db,
        hashes.map((hash) => Buffer.from(hash, 'hex')),
      ),
    ({ tokenHash }) => tokenHash.toString('hex'),
  );
  /** An unknown token, a deleted hook and a disabled one get the same response. */
  const hookOf = async (c: HookContext): Promise<ReceivingHook> => {
    const hook = found(await findHook(hashHookToken(c.req.param('token') ?? '').toString('hex')), 'Hook');
    c.set('orgId', scopeOfHook(hook).orgId);
    return hook;
  };
  app.use(path, async (c, next) => {
    const end = inProgress.begin(c.req.param('token'));
    try {
      await next();
    } finally {
      end();
    }
  });
  app.post(path, async (c) => {
    const hook = await hookOf(c);
    return requests.run(scopeOfHook(hook).orgId, () => receive(c, deps, hook));
  });
  app.get(path, async (c) => {
    await hookOf(c);
    return shakeOrRefuse(c, hubHandshake(new URL(c.req.url).searchParams));
  });
  app.options(path, async (c) => {
    await hookOf(c);
    return shakeOrRefuse(c, cloudEventsHandshake(headersOf(c)));
  });
}

async function receive(c: HookContext, deps: ApiDeps, hook: ReceivingHook): Promise<Response> {
  const validation = graphHandshake(new URL(c.req.url).searchParams);
  if (validation) return shake(c, validation);
  const request = { header: headersOf(c), body: await readBytes(c.req.raw), receivedAt: new Date() };
  await refuseForged(deps, hook, request);
  const challenge = hook.verification.kind === 'slack' ? slackHandshake(request.body) : null;
  if (challenge) return shake(c, challenge);
  const reason = await takeRequest(deps, hook, request);
  return c.json(reason === null ? { accepted: true } : { accepted: true, duplicate: true, reason }, 202);
}

const headersOf = (c: HookContext) => (name: string) => c.req.raw.headers.get(name);

const shake = (c: HookContext, { body, headers }: HandshakeResponse): Response => c.body(body, 200, headers);

function shakeOrRefuse(c: HookContext, response: HandshakeResponse | null): Response {
  if (!response) throw notFound('Handshake');
  return shake(c, response);
}
