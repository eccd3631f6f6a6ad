import { findPurgeableConnections, purgeSome } from '../../db/queries/connections/purge.ts';
import { orgScope } from '../../db/scope.ts';
import type { Deps } from '../deps.ts';

const limit = 100;

/**
 * Milliseconds after which a request that found the connection before its deletion no longer inserts a run (they take a few).
 */
const deletedMs = 2000;
/** Rows deleted in one statement: a few tens of milliseconds. */
export const purgedRowsMax = 10_000;
/** Milliseconds after which deleting stops for this round, so that more urgent sweeps come around again. */
const purgeMsMax = 500;

/** Removes, bit by bit, everything of deleted connections whose runs have all ended. */
export async function purgeDeletedConnections({ db, log }: Pick<Deps, 'db' | 'log'>): Promise<void> {
  const endMs = performance.now() + purgeMsMax;
  for (const { id: connectionId, orgId } of await findPurgeableConnections(db, { olderThanMs: deletedMs, limit })) {
    try {
      let done = false;
      while (!done && performance.now() < endMs) {
        done = await purgeSome(db, orgScope(orgId), { connectionId, rowsMax: purgedRowsMax });
      }
      if (done) log.info('deleted connection removed', { connectionId });
    } catch (error) {
      log.warn('deleted connection not removed; the next round tries again', { connectionId, error });
    }
  }
}
