import type { Attempt } from '../../../db/queries/runs/attempts.ts';
import type { BatchOwner } from '../../../db/queries/runs/batches/batch-owner.ts';
import type { RunOutcome } from '../../../db/queries/runs/lanes/end-run.ts';
import type { Receipt } from '../../../src/core/model/receipt.ts';
import { newRun, takeOptions } from '../service/receipts.ts';
import type { ControlStore } from './control-store.ts';
import { openMemoryStore } from './memory-store.ts';
import { openPostgresStore } from './postgres-store.ts';

/** Both kinds. */
export const controlStores = [
  { name: 'PostgreSQL', open: openPostgresStore },
  { name: 'memory', open: openMemoryStore },
] as const;

type RunParts = Parameters<typeof newRun>[1];

/** A run that failed for a reason that nobody looks at. */
export const failed: RunOutcome = { status: 'failed', error: { code: 'internal', message: 'm' } };

/** A fresh org with shorthands for what nearly every case does. */
export async function openCase(store: ControlStore) {
  const org = await store.openOrg();
  const { queries, db, scope, connectionId } = org;
  const insert = async (parts: RunParts = {}): Promise<string> =>
    (await queries.insertRun(db, scope, newRun(connectionId, parts))).id;
  const begin = async (id: string) => (await queries.beginRun(db, scope, id)).turn;
  const take = async (id: string, options = takeOptions()): Promise<Attempt> => {
    const attempt = await queries.takeLane(db, scope, id, options);
    if (!attempt) throw new Error('The run does not run');
    return attempt;
  };
  return {
    org,
    queries,
    db,
    scope,
    connectionId,
    insert,
    begin,
    take,
    end: (runId: string, outcome: RunOutcome = { status: 'succeeded', error: null }) =>
      queries.endRun(db, scope, { runId, outcome, breaksConnection: false }),
    /** A run that has begun, and its first attempt. */
    async started(parts: RunParts = {}) {
      const id = await insert(parts);
      await begin(id);
      return { id, attempt: await take(id, takeOptions({ isFirst: true })) };
    },
    record: (owner: BatchOwner, receipt: Receipt) => queries.recordBatch(db, scope, { owner, receipt }),
    run: (id: string) => queries.findRun(db, scope, id),
    /** The row of a run, with the columns that no query returns. */
    row: async (id: string) => (await org.rows()).runs.find((row) => row['id'] === id),
    partition: (laneId: number, key = '') => queries.findPartition(db, scope, { laneId, partition: key }),
    states: (laneId: number, externalIds: readonly string[]) =>
      queries.findRecordStates(db, scope, { laneId, externalIds }),
  };
}
