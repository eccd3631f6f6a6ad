import { type DueRetest, takeDueRetests } from '../../db/queries/connections/retests.ts';
import { type RetestDeps, retestConnection } from '../control/connections/retest.ts';
import { workOf } from '../core/work-ids.ts';

/** Concurrent tests, in all and per org: an API may be slow. */
const atOnce = { max: 8, maxEach: 2 };

export interface RetestSweep {
  sweep(): Promise<void>;
  /** Resolves when no test is in progress: tokens that tests have refreshed are then stored. */
  settled(): Promise<void>;
}

export function createRetestSweep(deps: RetestDeps): RetestSweep {
  const inProgress = new Map<Promise<void>, string>();
  const retest = async (due: DueRetest): Promise<void> => {
    await workOf({ orgId: due.orgId, connectionId: due.id }, async () => {
      try {
        await retestConnection(deps, due);
      } catch (error) {
        deps.log.warn('connection in error not tested to the end', { error });
      }
    });
  };
  const begin = (due: DueRetest): void => {
    const test = retest(due).finally(() => inProgress.delete(test));
    inProgress.set(test, due.orgId);
  };
  return {
    async sweep() {
      const limit = atOnce.max - inProgress.size;
      if (limit <= 0) return;
      const busyOrgs = [...inProgress.values()];
      for (const due of await takeDueRetests(deps.db, { limit, limitOfOrg: atOnce.maxEach, busyOrgs })) begin(due);
    },
    async settled() {
      await Promise.all(inProgress.keys());
    },
  };
}
