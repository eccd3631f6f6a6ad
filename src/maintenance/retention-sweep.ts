/** Removes data older than the retention of the deployment, a little in each round, so that it holds up nothing else. */
import { findPartitions } from '../../db/queries/maintenance/partitions.ts';
import {
  type OldRows,
  purgeApiKeys,
  purgeCalls,
  purgeConnectSessions,
  purgeDimensions,
  purgeEndpoints,
  purgeEvents,
  purgePages,
  purgeRecoveries,
  purgeResolved,
} from '../../db/queries/maintenance/retention.ts';
import type { Deps } from '../deps.ts';

const everyMs = 60_000;
/** Milliseconds after which removing stops for this round, so that more urgent sweeps come around again. */
const roundMsMax = 500;
/** Rows removed in one statement: a few tens of milliseconds. */
const rowsMax = 10_000;
const dayMs = 86_400_000;

interface Part {
  readonly name: string;
  readonly purge: (db: Deps['db'], old: OldRows) => Promise<number>;
  readonly rowsMax: number;
}

const parts: readonly Part[] = [
  { name: 'calls', purge: purgeCalls, rowsMax },
  { name: 'pages of runs', purge: purgePages, rowsMax },
  { name: 'lists of runs', purge: purgeDimensions, rowsMax },
  // Each event takes its messages and remaining deliveries along. Few deliveries remain, because events wait until the
  // partition of their first ones is dropped.
  { name: 'events', purge: purgeEvents, rowsMax: rowsMax / 10 },
  { name: 'recoveries', purge: purgeRecoveries, rowsMax },
  { name: 'deleted endpoints', purge: purgeEndpoints, rowsMax },
  { name: 'resolved records', purge: purgeResolved, rowsMax },
  { name: 'API keys', purge: purgeApiKeys, rowsMax },
  { name: 'connect sessions', purge: purgeConnectSessions, rowsMax },
];

/** Runs once a minute, and in every round while something is left. */
export function createRetentionSweep(
  { db, log }: Pick<Deps, 'db' | 'log'>,
  retentionDays: number,
): () => Promise<void> {
  let lookAt = 0;
  /** A part with a full batch moves to the end, so that it does not hold up the others. */
  let left: readonly Part[] = [];
  return async () => {
    if (left.length === 0) {
      if (Date.now() < lookAt) return;
      lookAt = Date.now() + everyMs;
      left = parts;
    }
    const before = new Date(Date.now() - retentionDays * dayMs);
    const deliveriesFrom = await oldestDeliveries(db);
    const endMs = performance.now() + roundMsMax;
    while (performance.now() < endMs) {
      const [part, ...others] = left;
      if (!part) return;
      left = others;
      try {
        const partBefore = part.name === 'events' ? earlier(before, deliveriesFrom) : before;
        const removed = await part.purge(db, { before: partBefore, rowsMax: part.rowsMax });
        if (removed > 0) log.debug('old rows removed', { what: part.name, removed });
        if (removed === part.rowsMax) left = [...others, part];
      } catch (error) {
        log.warn('old rows not removed; trying again in a minute', { what: part.name, error });
      }
    }
  };
}

async function oldestDeliveries(db: Deps['db']): Promise<Date | null> {
  const [oldest] = await findPartitions(db, 'webhook_deliveries');
  return oldest?.from ?? null;
}

const earlier = (one: Date, other: Date | null): Date => (other !== null && other < one ? other : one);
