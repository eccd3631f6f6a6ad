import { type DueRetest, takeDueRetests } from '../../db/queries/connections/retests.ts';
import { type RetestDeps, retestConnection } from '../control/connections/retest.ts';
import { createTurns } from '../core/work/turns.ts';

/** Connections in one round. */
const rowsMax = 50;
/** Connections that are tested at the same moment, and those of one org: an API may be slow. */
const testedAtOnce = { max: 8, maxEach: 2 };

/** A sweeper that tests connections in error. The round does not wait for the tests. */
export function createRetestSweep(deps: RetestDeps): () => Promise<void> {
  const turns = createTurns(testedAtOnce);
  let inProgress = 0;
  const retest = async (due: DueRetest): Promise<void> => {
    const giveBack = await turns.take(due.orgId);
    try {
      await retestConnection(deps, due);
    } catch (error) {
      deps.log.warn('test of a connection in error failed; it is repeated', { connectionId: due.id, error });
    } finally {
      giveBack();
      inProgress -= 1;
    }
  };
  return async () => {
    if (inProgress >= rowsMax) return;
    for (const due of await takeDueRetests(deps.db, rowsMax - inProgress)) {
      inProgress += 1;
      void retest(due);
    }
  };
}
