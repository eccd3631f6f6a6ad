import { type DueRetest, takeDueRetests } from '../../db/queries/connections/retests.ts';
import { type RetestDeps, retestConnection } from '../control/connections/retest.ts';
import { workOf } from '../core/work-ids.ts';

/** Connections that are tested at the same moment, and those of one org: an API may be slow. */
const atOnce = { max: 8, maxEach: 2 };

/** A sweeper of connections in error. */
export interface RetestSweep {
  /** Begins the tests that are due; it does not wait for them. */
  sweep(): Promise<void>;
  /** Resolves when no test is in progress: a token that one has refreshed is stored then. */
  settled(): Promise<void>;
}

/** A sweeper that tests connections in error. */
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
