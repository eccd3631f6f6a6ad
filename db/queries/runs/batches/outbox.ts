import { sql } from 'kysely';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { type BatchOwner, holdsLane } from './batch-owner.ts';

/** See `OutboxPart`. */
export interface OutboxPartRow {
  readonly path: string;
  readonly again: boolean;
  readonly isDoubted: boolean;
  readonly mayBeTaken: boolean;
  readonly id: string;
  readonly body: Buffer;
  readonly indexes: number[];
}

/** A batch without a final response. */
export interface PendingRow {
  readonly runId: string;
  readonly batchNo: number;
  readonly draft: string;
  /** A JSON array on each line, so that another one is added without reading the others. */
  readonly rejected: string;
  /** In sending order, as far as they have records in common. */
  readonly parts: readonly OutboxPartRow[];
}

/** See `PendingBatch`. */
export interface OpenedPendingRow extends PendingRow {
  readonly isOfBefore: boolean;
}

export interface OutboxRow {
  readonly checkpoint: { readonly runId: string; readonly batchNo: number; readonly receipt: string } | null;
  readonly pending: OpenedPendingRow | null;
  /** See `OpenedOutbox.carried`. */
  readonly carried: string | null;
  /** See `OpenedOutbox.sequence`. */
  readonly sequence: number;
  /** Bytes of a request that the receiver accepts, as the run found out; `null` for no bound. */
  readonly bytesMax: number | null;
}

export interface OutboxOwner extends BatchOwner {
  readonly runId: string;
}

export interface StoredTarget {
  /** Sealed; `null` if an earlier version of the service stored `target`. */
  readonly address: string | null;
  /** A hash; `null` if `address` is stored. */
  readonly target: Buffer | null;
}

/** `former`: the same in the form of an earlier version of the service, which is replaced. */
export type Standing = 'same' | 'former' | 'other';

export interface OutboxTarget {
  /** Sealed. */
  readonly address: string;
  standing(this: void, stored: StoredTarget): Standing;
}

/** Runs `work` in one transaction; returns `null` and changes nothing when a newer attempt holds the lane. */
function asOwner<Result>(
  db: Db,
  scope: OrgScope,
  { owner, work }: { readonly owner: BatchOwner; readonly work: (tx: Db) => Promise<Result> },
): Promise<Result | null> {
  return db.transaction().execute(async (tx) => ((await holdsLane(tx, scope, owner)) ? await work(tx) : null));
}

/**
 * Opens the outbox of a generation of the lane at a target; of another target only the request numbers are kept. A batch of
 * another generation that is still to be sent keeps its outbox until it is.
 */
export function openOutbox(
  db: Db,
  scope: OrgScope,
  {
    owner,
    target,
    generation,
  }: { readonly owner: OutboxOwner; readonly target: OutboxTarget; readonly generation: string },
): Promise<OutboxRow | null> {
  const { laneId, runId } = owner;
  const work = async (tx: Db): Promise<OutboxRow> => {
    await placeOutbox(tx, scope, { laneId, target, generation });
    await tx
      .updateTable('outboxes')
      .set({ generation, ...noCheckpoint })
      .where('orgId', '=', scope.orgId)
      .where('laneId', '=', laneId)
      .where('generation', '!=', generation)
      .where('pendingRunId', 'is', null)
      .execute();
    const row = await tx
      .selectFrom('outboxes')
      .selectAll()
      .where('orgId', '=', scope.orgId)
      .where('laneId', '=', laneId)
      .executeTakeFirstOrThrow();
    const { runId: checkpointRun, batchNo, receipt, pendingRunId, pendingBatchNo, pendingDraft, pendingRejected } = row;
    const isOfBefore = row.generation !== generation;
    const hasCheckpoint = !isOfBefore && checkpointRun !== null && batchNo !== null && receipt !== null;
    const isPending =
      pendingRunId !== null && pendingBatchNo !== null && pendingDraft !== null && pendingRejected !== null;
    return {
      checkpoint: hasCheckpoint ? { runId: checkpointRun, batchNo, receipt } : null,
      pending: isPending
        ? {
            runId: pendingRunId,
            batchNo: pendingBatchNo,
            draft: pendingDraft,
            rejected: pendingRejected,
            parts: await findParts(tx, scope, laneId),
            isOfBefore,
          }
        : null,
      carried: row.carriedRunId === runId ? row.carriedReceipt : null,
      sequence: row.sequenceRunId === runId ? row.sequence : 0,
      bytesMax: row.bytesMaxRunId === runId ? row.bytesMax : null,
    };
  };
  return asOwner(db, scope, { owner, work });
}

/** The caller holds the lane. */
async function placeOutbox(
  tx: Db,
  { orgId }: OrgScope,
  {
    laneId,
    target: { address, standing },
    generation,
  }: { readonly laneId: number; readonly target: OutboxTarget; readonly generation: string },
): Promise<void> {
  const known = await tx
    .selectFrom('outboxes')
    .select(['address', 'target', 'sequence', 'sequenceRunId'])
    .where('orgId', '=', orgId)
    .where('laneId', '=', laneId)
    .executeTakeFirst();
  const stands = known && standing(known);
  if (stands === 'same') return;
  if (stands === 'former') {
    const ofLane = tx.updateTable('outboxes').where('orgId', '=', orgId).where('laneId', '=', laneId);
    await ofLane.set({ address, target: null }).execute();
    return;
  }
  if (known) await tx.deleteFrom('outboxes').where('orgId', '=', orgId).where('laneId', '=', laneId).execute();
  const { sequence, sequenceRunId } = known ?? { sequence: 0, sequenceRunId: null };
  await tx.insertInto('outboxes').values({ orgId, laneId, address, generation, sequence, sequenceRunId }).execute();
}

const noCheckpoint = {
  ...{ runId: null, batchNo: null, receipt: null },
  ...{ carriedRunId: null, carriedReceipt: null },
} as const;

/** Stores a batch before anything of it is sent; `null` also if it, or a later one of its run, was completed. */
export function putPending(
  db: Db,
  scope: OrgScope,
  {
    owner,
    pending,
    sequence,
  }: {
    readonly owner: OutboxOwner;
    readonly pending: PendingRow;
    /** Number of its last request. */
    readonly sequence: number;
  },
): Promise<true | null> {
  const { laneId } = owner;
  const { runId, batchNo, draft, rejected, parts } = pending;
  const work = async (tx: Db): Promise<true | null> => {
    const { numUpdatedRows } = await tx
      .updateTable('outboxes')
      .set({
        pendingRunId: runId,
        pendingBatchNo: batchNo,
        pendingDraft: draft,
        pendingRejected: rejected,
        sequence,
        sequenceRunId: runId,
      })
      .where('orgId', '=', scope.orgId)
      .where('laneId', '=', laneId)
      .where((eb) => eb.or([eb('runId', 'is', null), eb('runId', '!=', runId), eb('batchNo', '<', batchNo)]))
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return null;
    await insertParts(tx, scope, { laneId, parts });
    return true;
  };
  return asOwner(db, scope, { owner, work });
}

/**
 * Replaces a part that got its response, adds its refused rows, and resets the count of failures. Parts of a batch may do so in
 * any order and at once: no stored value is replaced by what the caller knows.
 */
export function advancePending(
  db: Db,
  scope: OrgScope,
  {
    owner,
    part,
    ...step
  }: {
    readonly owner: OutboxOwner;
    readonly part: Pick<OutboxPartRow, 'path' | 'again'>;
    readonly refused: string | null;
    readonly parts: readonly OutboxPartRow[];
    readonly bytesMax: number | null;
  },
): Promise<true | null> {
  const { laneId, runId } = owner;
  const work = async (tx: Db): Promise<true> => {
    await tx
      .deleteFrom('outboxParts')
      .where('orgId', '=', scope.orgId)
      .where('laneId', '=', laneId)
      .where('path', '=', part.path)
      .where('again', '=', part.again)
      .execute();
    await insertParts(tx, scope, { laneId, parts: step.parts });
    await tx
      .updateTable('outboxes')
      .set({
        ...(step.refused !== null && { pendingRejected: sql<string>`pending_rejected || ${`\n${step.refused}`}` }),
        bytesMax: sql<number | null>`case when bytes_max_run_id = ${runId}
          then least(bytes_max, ${step.bytesMax}::int) else ${step.bytesMax}::int end`,
        bytesMaxRunId: runId,
        failures: 0,
        failingSince: null,
      })
      .where('orgId', '=', scope.orgId)
      .where('laneId', '=', laneId)
      .execute();
    return true;
  };
  return asOwner(db, scope, { owner, work });
}

/** The receiver refused some of a part in a form that could not be read. */
export function doubtPart(
  db: Db,
  scope: OrgScope,
  { owner, part }: { readonly owner: OutboxOwner; readonly part: Pick<OutboxPartRow, 'path' | 'again'> },
): Promise<true | null> {
  const work = async (tx: Db): Promise<true> => {
    await tx
      .updateTable('outboxParts')
      .set({ isDoubted: true })
      .where('orgId', '=', scope.orgId)
      .where('laneId', '=', owner.laneId)
      .where('path', '=', part.path)
      .where('again', '=', part.again)
      .execute();
    return true;
  };
  return asOwner(db, scope, { owner, work });
}

/** Failures of other runs do not count. */
export function countFailure(
  db: Db,
  scope: OrgScope,
  owner: OutboxOwner,
): Promise<{ readonly failures: number; readonly sinceMs: number } | null> {
  const { laneId, runId } = owner;
  const isOngoing = sql`failing_run_id = ${runId} and failing_since is not null`;
  const work = (tx: Db) =>
    tx
      .updateTable('outboxes')
      .set({
        failures: sql<number>`case when ${isOngoing} then failures + 1 else 1 end`,
        failingSince: sql<string>`case when ${isOngoing} then failing_since else now() end`,
        failingRunId: runId,
      })
      .where('orgId', '=', scope.orgId)
      .where('laneId', '=', laneId)
      .returning(['failures', sql<number>`(extract(epoch from now() - failing_since) * 1000)::float8`.as('sinceMs')])
      .executeTakeFirstOrThrow();
  return asOwner(db, scope, { owner, work });
}

/**
 * Ends the pending batch: a receipt becomes the checkpoint, `null` forgets the batch. The receipt of another run's batch stays
 * beside it until the run that sent it is over.
 */
export function endPending(
  db: Db,
  scope: OrgScope,
  { owner, receipt }: { readonly owner: OutboxOwner; readonly receipt: string | null },
): Promise<true | null> {
  const { laneId, runId } = owner;
  const isCarried = sql`pending_run_id <> ${runId}`;
  const work = async (tx: Db): Promise<true> => {
    await tx.deleteFrom('outboxParts').where('orgId', '=', scope.orgId).where('laneId', '=', laneId).execute();
    await tx
      .updateTable('outboxes')
      .set((eb) => ({
        ...(receipt !== null && {
          runId: eb.ref('pendingRunId'),
          batchNo: eb.ref('pendingBatchNo'),
          receipt,
          carriedRunId: sql<string | null>`case when ${isCarried} or carried_run_id = ${runId} then ${runId} end`,
          carriedReceipt: sql<string | null>`
            case when ${isCarried} then ${receipt} when carried_run_id = ${runId} then carried_receipt end`,
        }),
        pendingRunId: null,
        pendingBatchNo: null,
        pendingDraft: null,
        pendingRejected: null,
      }))
      .where('orgId', '=', scope.orgId)
      .where('laneId', '=', laneId)
      .execute();
    return true;
  };
  return asOwner(db, scope, { owner, work });
}

function findParts(tx: Db, scope: OrgScope, laneId: number): Promise<OutboxPartRow[]> {
  return tx
    .selectFrom('outboxParts')
    .select(['path', 'again', 'isDoubted', 'mayBeTaken', 'id', 'body', 'indexes'])
    .where('orgId', '=', scope.orgId)
    .where('laneId', '=', laneId)
    .orderBy('again')
    .orderBy(sql`string_to_array(path, '.')::int[]`)
    .execute();
}

async function insertParts(
  tx: Db,
  scope: OrgScope,
  { laneId, parts }: { readonly laneId: number; readonly parts: readonly OutboxPartRow[] },
): Promise<void> {
  for (let from = 0; from < parts.length; from += partsAtOnce) {
    const some = parts.slice(from, from + partsAtOnce);
    await tx
      .insertInto('outboxParts')
      .values(some.map((part) => ({ orgId: scope.orgId, laneId, ...part })))
      .execute();
  }
}

/** A statement has at most 65,535 parameters; a page of small records may have 100,000 requests. */
const partsAtOnce = 500;
