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
import { type WriteDeps, write } from './write.ts';

/**
 * Throws conflict when the org has reached the limit; otherwise it has room for one more until the transaction ends,
 * which holds a lock on the org.
 */
export async function requireRoom(tx: Db, scope: OrgScope, name: CountedLimit, within: Within = {}): Promise<void> {
  const { max, used } = await lockLimitUse(tx, scope, name, within);
  if (used >= max) throw conflict(`${reached(name, max)}: delete one, or ask the operator for a higher limit.`);
}

/** The room above which a run is accepted without a lock: more than all API processes insert at the same moment. */
const unlockedRoom = 64;

/**
 * Accepts one more queued run if the limits of the org allow it. Throws rate_limited. Far below the limits it takes no
 * lock: there is room for all runs that could arrive at the same moment.
 */
export async function withRoomForRun<Result>(
  deps: WriteDeps,
  scope: OrgScope,
  { connectionId, resourceKey }: LaneKey,
  insert: (db: Db) => Promise<Result>,
): Promise<Result> {
  const within = { connectionId, resourceKey };
  const uses = await readLimitUses(deps.db, scope, runLimits, within);
  if (uses.every(({ max, used }) => max - used > unlockedRoom)) {
    return deps.saveResponse ? write(deps, insert) : insert(deps.db);
  }
  return write(deps, async (tx) => {
    await lockOrg(tx, scope);
    for (const { name, max, used } of await readLimitUses(tx, scope, runLimits, within)) {
      if (used >= max) throw new AppError('rate_limited', `${reached(name, max)}: wait until some of them have ended.`);
    }
    return insert(tx);
  });
}

const runLimits = ['queuedRunsPerResource', 'queuedRuns'] as const;

const reached = (name: CountedLimit, max: number): string => {
  const [what = ''] = orgLimits[name].about.split(';');
  return `The org has reached its limit of ${max} ${what} (\`${name}\`)`;
};
