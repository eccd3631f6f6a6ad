/**
 * Handles a request to a hook. An accepted request is committed before the response; then it or the sweeper wakes the
 * workflow that creates the run.
 */

import type { Db } from '../../../db/client.ts';
import {
  acceptHookRequest,
  findUnwokenResources,
  type IdleRequest,
  logHookRequest,
} from '../../../db/queries/hooks/hook-requests.ts';
import type { ReceivingHook } from '../../../db/queries/hooks/hooks.ts';
import { type LimitUse, lockLimitUse, readLimitUse } from '../../../db/queries/orgs/org-limits.ts';
import { type OrgScope, orgScope } from '../../../db/scope.ts';
import { AppError } from '../../core/errors.ts';
import { dedupeKey } from '../../core/hooks/dedupe-key.ts';
import { signedBytes } from '../../core/hooks/signed-content.ts';
import { type ReceivedRequest, verifyRequest } from '../../core/hooks/verify-request.ts';
import type { LaneKey } from '../../core/model/lane-key.ts';
import type { Deps } from '../../deps.ts';
import { orLeaveToSweeper } from '../../dispatch/or-leave-to-sweeper.ts';
import { tooManyInTime } from '../orgs/org-limits.ts';
import { openHookSecret } from './hooks.ts';

type InboundDeps = Pick<Deps, 'db' | 'orchestrator' | 'log' | 'secretBox'>;

export const scopeOfHook = ({ orgId }: Pick<ReceivingHook, 'orgId'>): OrgScope => orgScope(orgId);

/**
 * Throws unauthorized and logs the request as rejected, unless it comes from the upstream of the hook. Throws rate_limited
 * instead, without logging, once the org's log of the last hour is full.
 */
export async function refuseForged(
  deps: Pick<InboundDeps, 'db' | 'secretBox'>,
  hook: ReceivingHook,
  request: ReceivedRequest,
): Promise<void> {
  const scope = scopeOfHook(hook);
  const issue =
    verifyRequest(hook.verification, openHookSecret(deps, scope, hook), request) ?? dedupeKey(hook, request).issue;
  if (issue === null) return;
  await logRejected(deps.db, scope, hook, issue);
  throw new AppError(
    'unauthorized',
    'The verification of the request failed: GET /api/v1/hooks/:id/requests says why.',
  );
}

async function logRejected(db: Db, scope: OrgScope, hook: ReceivingHook, reason: string): Promise<void> {
  const full = await logIdle(db, scope, hook, { status: 'rejected', reason });
  if (full) throw tooManyInTime('idleHookRequests', full.max);
}

/**
 * `null` if logged. Once the org's log of the last hour is full, nothing is written or locked, so a flood of requests costs
 * little.
 */
async function logIdle(db: Db, scope: OrgScope, hook: ReceivingHook, line: IdleRequest): Promise<LimitUse | null> {
  const name = 'idleHookRequests';
  const isFull = ({ used, max }: LimitUse) => used >= max;
  const before = await readLimitUse(db, scope, name, {});
  if (isFull(before)) return before;
  return db.transaction().execute(async (tx) => {
    const use = await lockLimitUse(tx, scope, name, {});
    if (isFull(use)) return use;
    await logHookRequest(tx, scope, hook, line);
    return null;
  });
}

/**
 * Does not wait for the run. While the connection is not active, the request is only logged; a run is requested on
 * activation.
 * @returns why it duplicates an accepted request, or `null`.
 */
export async function takeRequest(
  deps: InboundDeps,
  hook: ReceivingHook,
  request: ReceivedRequest,
): Promise<string | null> {
  const { db } = deps;
  const scope = scopeOfHook(hook);
  const { connectionId, connectionStatus } = hook;
  if (connectionStatus !== 'active') {
    await logIdle(db, scope, hook, { status: 'ignored', reason: `connection ${connectionStatus}` });
    return null;
  }
  const dedupe = dedupeKey(hook, request);
  const signed = signedBytes(hook.verification, openHookSecret(deps, scope, hook), request);
  const fingerprintsOf = (bytes: Uint8Array | null) => bytes && deps.secretBox.fingerprints(bytes);
  const accepted = await acceptHookRequest(db, scope, hook, {
    notifications: fingerprintsOf(dedupe.key),
    hasId: dedupe.key !== null && dedupe.hasId,
    contents: fingerprintsOf(signed),
  });
  if (accepted === 'duplicate' && dedupe.key) {
    await logIdle(db, scope, hook, { status: 'duplicate', reason: dedupe.sameness });
    return dedupe.sameness;
  }
  if (typeof accepted === 'object') await wakeFor(deps, scope, { connectionId, requestId: accepted.id });
  return null;
}

/** Does not wait for Temporal: the sweeper repeats lost wake-ups. */
async function wakeFor(
  deps: InboundDeps,
  scope: OrgScope,
  { connectionId, requestId }: { readonly connectionId: string; readonly requestId: string },
): Promise<void> {
  for (const resourceKey of await findUnwokenResources(deps.db, scope, { requestId, connectionId })) {
    void wakeInbound(deps, scope, { connectionId, resourceKey });
  }
}

async function wakeInbound(
  { orchestrator, log }: Pick<InboundDeps, 'orchestrator' | 'log'>,
  { orgId }: OrgScope,
  resource: LaneKey,
): Promise<void> {
  await orLeaveToSweeper(log, { orgId, ...resource }, () => orchestrator.noteInbound({ orgId, ...resource }));
}
