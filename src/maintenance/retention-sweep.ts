/** Removes data older than the retention of the deployment, a little in each round, so that nothing waits for it. */
import { findPartitions } from '../../db/queries/maintenance/partitions.ts';
import {
  type OldRows,
  purgeApiKeys,
  purgeCalls,
  purgeDimensions,
  purgeEndpoints,
  purgeEvents,
  purgePages,
  purgeRecoveries,
  purgeResolved,
} from '../../db/queries/maintenance/retention.ts';
import type { Deps } from '../deps.ts';

/** The milliseconds between two checks. */
const everyMs = 60_000;
/** The milliseconds after which removing stops for this round, so that what runs wait for comes around again. */
const roundMsMax = 500;
/** Rows removed in one statement: a few tens of milliseconds. */
const rowsMax = 10_000;
const dayMs = 86_400_000;

/** A kind of rows that grow too old. */
interface Part {
  readonly name: string;
  readonly purge: (db: Deps['db'], old: OldRows) => Promise<number>;
  readonly rowsMax: number;
}

const parts: readonly Part[] = [
  { name: 'calls', purge: purgeCalls, rowsMax },
  { name: 'pages of runs', purge: purgePages, rowsMax },
  { name: 'lists of runs', purge: purgeDimensions, rowsMax },
  // Each takes its messages and the deliveries that are left with it. It waits for the partition that has its first ones to be
  // dropped, so that few are.
  { name: 'events', purge: purgeEvents, rowsMax: rowsMax / 10 },
  { name: 'recoveries', purge: purgeRecoveries, rowsMax },
  { name: 'deleted endpoints', purge: purgeEndpoints, rowsMax },
  { name: 'resolved records', purge: purgeResolved, rowsMax },
  { name: 'API keys', purge: purgeApiKeys, rowsMax },
];

/** A sweeper with its own interval: once a minute, and in every round while something is left. */
export function createRetentionSweep(
  { db, log }: Pick<Deps, 'db' | 'log'>,
  retentionDays: number,
): () => Promise<void> {
  let lookAt = 0;
  /** Parts of which something may be left; one with a full batch goes to the end, so that none keeps another waiting. */
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

/** The time since which partitions have deliveries; null: there are none. */
async function oldestDeliveries(db: Deps['db']): Promise<Date | null> {
  const [oldest] = await findPartitions(db, 'webhook_deliveries');
  return oldest?.from ?? null;
}

const earlier = (one: Date, other: Date | null): Date => (other !== null && other < one ? other : one);
