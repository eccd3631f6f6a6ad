import type { Db } from '../../../db/client.ts';
import {
  type CountedLimit,
  lockLimitUse,
  lockOrg,
  readLimitUses,
  type Within,
} from '../../../db/queries/orgs/org-limits.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { AppError, conflict } from '../../core/errors.ts';
import type { LaneKey } from '../../core/model/lane-key.ts';
import { orgLimits } from '../../core/resources/org-limits.ts';

/**
 * Throws conflict when the org has reached the limit; otherwise locks the org, which has room for one more until the
 * transaction ends.
 */
export async function requireRoom(tx: Db, scope: OrgScope, name: CountedLimit, within: Within = {}): Promise<void> {
  const { max, used } = await lockLimitUse(tx, scope, name, within);
  if (used >= max) throw conflict(`${reached(name, max)}: delete one, or ask the operator for a higher limit.`);
}

/** Seconds after which a limited action may be tried again: some earlier actions have then expired, if not all. */
const nextTrySeconds = 600;

/** Throws rate_limited when the org has reached a limit per time; otherwise acts and locks as {@link requireRoom}. */
export async function requireTurn(tx: Db, scope: OrgScope, name: TimedLimit): Promise<void> {
  const use = await lockLimitUse(tx, scope, name, {});
  if (use.used >= use.max) throw tooManyInTime(name, use.max);
}

type TimedLimit = 'requestedDeliveries' | 'recoveries' | 'idleHookRequests';

export const tooManyInTime = (name: TimedLimit, max: number): AppError =>
  new AppError('rate_limited', `${reached(name, max)}: wait, or ask the operator for a higher limit.`, {
    retryAfterSeconds: nextTrySeconds,
  });

/** Throws rate_limited when the org or the resource has its maximum of queued runs; otherwise as {@link requireRoom}. */
export async function requireRoomForRun(
  tx: Db,
  scope: OrgScope,
  { connectionId, resourceKey }: LaneKey,
): Promise<void> {
  await lockOrg(tx, scope);
  for (const { name, max, used } of await readLimitUses(tx, scope, runLimits, { connectionId, resourceKey })) {
    if (used >= max) throw new AppError('rate_limited', `${reached(name, max)}: wait until some of them have ended.`);
  }
}

const runLimits = ['queuedRunsPerResource', 'queuedRuns'] as const;

const reached = (name: CountedLimit, max: number): string => {
  const [what = ''] = orgLimits[name].about.split(';');
  return `The org has reached its limit of ${max} ${what} (\`${name}\`)`;
};
