import { sql } from 'kysely';
import { hasCode } from '../../../../src/core/error-code.ts';
import { isPlain, type Receipt } from '../../../../src/core/model/receipt.ts';
import type { PassedOver, Recorded } from '../../../../src/core/run/run-ledger.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { type BatchOwner, holdsLane } from './batch-owner.ts';
import { recordRest } from './batch-rest.ts';
import { type BatchToRecord, recordMain, total } from './batch-statement.ts';

type Batch = Omit<BatchToRecord, 'onlyNew'>;

/**
 * Records a batch: ledger, fingerprints, quarantine, counts, position and watermark, all or nothing. Call it after the
 * destination has committed the same receipt; safe to repeat, because batch numbers only move by one. The receipt may come from
 * the customer's database: it moves runs of its own lane only.
 */
export async function recordBatch(db: Db, scope: OrgScope, batch: Batch): Promise<Recorded> {
  const { receipt } = batch;
  // Nearly every batch is one statement: each further one waits for a turn of a process that is busy with other pages.
  if (isPlain(receipt)) return await recordAlone(db, scope, batch);
  return db.transaction().execute(async (tx) => {
    const { recorded, run } = await recordMain(tx, scope, { ...batch, onlyNew: false });
    if (run !== null) await recordRest(tx, scope, { laneId: batch.owner.laneId, runId: receipt.runId, receipt, run });
    return recorded;
  });
}

/**
 * Records a batch that an earlier run read and that the destination acknowledged in the run `runId`. Its results count in that
 * run, and neither run counts its records as read; safe to repeat.
 */
export async function recordCarried(
  db: Db,
  scope: OrgScope,
  { owner, receipt, runId }: { readonly owner: BatchOwner; readonly receipt: Receipt; readonly runId: string },
): Promise<Recorded> {
  return db.transaction().execute(async (tx) => {
    const { recorded, run } = await recordMain(tx, scope, {
      owner,
      receipt: { ...receipt, pages: [] },
      applied: true,
      onlyNew: false,
    });
    if (run === null) return recorded;
    await recordRest(tx, scope, { laneId: owner.laneId, runId, receipt, run });
    await tx
      .updateTable('runs')
      .set((eb) => ({
        recordsOut: eb('recordsOut', '+', total(receipt, 'recordsOut')),
        quarantined: eb('quarantined', '+', total(receipt, 'quarantined')),
        deleted: eb('deleted', '+', total(receipt, 'deleted')),
      }))
      .where('orgId', '=', scope.orgId)
      .where('id', '=', runId)
      .execute();
    return recorded;
  });
}

/**
 * Skips batches of a run that only its destination knows, after the control database was restored from a backup. Their records
 * are read and delivered again, and the next batch has the number after `batchNo`.
 */
export async function passOver(
  db: Db,
  scope: OrgScope,
  { owner, runId, batchNo }: { readonly owner: BatchOwner; readonly runId: string; readonly batchNo: number },
): Promise<PassedOver> {
  return db.transaction().execute(async (tx) => {
    if (!(await holdsLane(tx, scope, owner))) return 'fenced';
    const { numUpdatedRows } = await tx
      .updateTable('runs')
      .set({ batchNo })
      .where('orgId', '=', scope.orgId)
      .where('id', '=', runId)
      .where('laneId', '=', owner.laneId)
      .where('batchNo', '<', batchNo)
      .executeTakeFirst();
    return numUpdatedRows === 1n ? 'passed' : 'recorded';
  });
}

/** The last batch of a lane according to its destination. */
export interface ClaimedLast {
  readonly laneId: number;
  readonly runId: string;
  readonly batchNo: number;
  /** The asking run, if only its own batches count because earlier ones are delivered again; `null` if all count. */
  readonly onlyOf: string | null;
}

/**
 * ISO time since when a destination lacks a batch that it applied: everything from then on may be missing. `null` if it lacks
 * none, or the run is unknown here.
 */
export async function findBehindSince(
  db: Db,
  { orgId }: OrgScope,
  { laneId, runId, batchNo, onlyOf }: ClaimedLast,
): Promise<string | null> {
  const { rows } = await sql<{ readonly since: string }>`
    select case when found.finished_at is not null and found.applied_no between 1 and ${batchNo}::int
      then found.finished_at else found.started_at end as since
    from runs found join lateral (
      select seq, applied_no from runs
      where org_id = ${orgId} and lane_id = ${laneId} and applied_no > 0 and (${onlyOf}::text is null or id = ${onlyOf})
      order by seq desc limit 1) last on (last.seq, last.applied_no) > (found.seq, ${batchNo}::int)
    where found.org_id = ${orgId} and found.id = ${runId} and found.lane_id = ${laneId}`.execute(db);
  return rows[0]?.since ?? null;
}

/**
 * Before a run of the lane begins, skips the batch of an earlier run that only the destination has. Its receipt must not bring
 * the old watermark back.
 */
export async function passOverEndedRuns(
  tx: Db,
  scope: OrgScope,
  { laneId, runId }: { readonly laneId: number; readonly runId: string },
): Promise<void> {
  await tx
    .updateTable('runs')
    .set((eb) => ({ batchNo: eb('batchNo', '+', 1) }))
    .where('orgId', '=', scope.orgId)
    .where('laneId', '=', laneId)
    .where('id', '!=', runId)
    .where('status', 'not in', ['queued', 'running'])
    .execute();
}

async function recordAlone(db: Db, scope: OrgScope, batch: Batch): Promise<Recorded> {
  if (batch.receipt.allNew) {
    try {
      return (await recordMain(db, scope, { ...batch, onlyNew: true })).recorded;
    } catch (error) {
      // Nothing was changed: a receipt may come from a customer's database and claim anything.
      if (!isUniqueViolation(error)) throw error;
    }
  }
  return (await recordMain(db, scope, { ...batch, onlyNew: false })).recorded;
}

const isUniqueViolation = (error: unknown): boolean => hasCode(error, '23505');
