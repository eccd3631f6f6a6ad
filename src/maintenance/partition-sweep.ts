/** Keeps the partitions of the logs: makes them ahead of time, and drops those whose rows are all too old. */
import { sql } from 'kysely';
import { hookRequestDays } from '../../db/queries/hooks/hook-requests.ts';
import {
  addPartition,
  dropPartition,
  findPartitions,
  type PartitionedTable,
} from '../../db/queries/maintenance/partitions.ts';
import type { Deps } from '../deps.ts';
import { planPartitions } from './plan-partitions.ts';

const everyMs = 60_000;
const dayMs = 86_400_000;

/** Several processes may do it at once. */
export function createPartitionSweep(deps: Pick<Deps, 'db' | 'log'>, retentionDays: number): () => Promise<void> {
  const tables: Readonly<Record<PartitionedTable, number>> = {
    call_log: retentionDays,
    webhook_deliveries: retentionDays,
    hook_triggers: hookRequestDays,
    hook_requests: hookRequestDays,
  };
  let lookAt = 0;
  return async () => {
    if (Date.now() < lookAt) return;
    lookAt = Date.now() + everyMs;
    for (const [table, keptDays] of Object.entries(tables)) {
      try {
        // The keys are those of the record.
        await sweepTable(deps, table as PartitionedTable, keptDays);
      } catch (error) {
        deps.log.warn('partitions not kept; trying again in a minute', { table, error });
      }
    }
  };
}

async function sweepTable(
  { db, log }: Pick<Deps, 'db' | 'log'>,
  table: PartitionedTable,
  keptDays: number,
): Promise<void> {
  const clocks = await readClocks(db);
  // Rows must be too old by both clocks: a clock that jumped ahead drops nothing.
  const before = new Date(Math.min(...clocks) - keptDays * dayMs);
  const now = new Date(Math.max(...clocks));
  const { add, drop } = planPartitions(await findPartitions(db, table), { now, keptDays, before });
  for (const range of add) {
    if (await addPartition(db, table, range)) log.info('partition made', { table, ...range });
  }
  for (const partition of drop) {
    const kept = await dropPartition(db, table, { partition, before });
    log.info('partition dropped', { table, partition: partition.name, kept });
  }
}

async function readClocks(db: Deps['db']): Promise<readonly [number, number]> {
  const { rows } = await sql<{ now: string }>`select clock_timestamp() as now`.execute(db);
  const own = Date.now();
  return [own, rows[0] ? new Date(rows[0].now).getTime() : own];
}
