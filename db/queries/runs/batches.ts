import { type RawBuilder, sql } from 'kysely';
import { bytesArray, textArray } from '../../../src/core/binary-arrays.ts';
import { storableJson } from '../../../src/core/json/storable-json.ts';
import { storableText } from '../../../src/core/json/storable-text.ts';
import { columnOf, type PageEntry, type Receipt, type RecordEntry } from '../../../src/core/model/receipt.ts';
import type { RunStatus } from '../../../src/core/resources/run.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { type Placeholders, statement } from '../../statement.ts';
import { markRetried } from './requeue.ts';

/** An attempt, by the lane that it holds. */
export interface BatchOwner {
  readonly laneId: number;
  /** Of the attempt that records; a newer one makes this one fail. */
  readonly fence: number;
}

/**
 * The result of recording a batch. `stop`: the run was canceled or ended. `stale`: recorded before. `fenced`: a newer
 * attempt holds the lane.
 */
export type Recorded =
  | { readonly outcome: 'recorded'; readonly stop: boolean }
  | { readonly outcome: 'stale' | 'fenced' };

/**
 * Records a batch: ledger, fingerprints, quarantine, counts, position and watermark, all or nothing. Called after the
 * destination has committed the same receipt; safe to repeat, because batch numbers only move by one. The receipt may come
 * from the customer's database: it moves runs of its own lane only.
 */
export async function recordBatch(
  db: Db,
  scope: OrgScope,
  batch: { readonly owner: BatchOwner; readonly receipt: Receipt },
): Promise<Recorded> {
  const { receipt } = batch;
  // Nearly every batch is one statement: each further one waits for a turn of a process that is busy with other pages.
  if (isPlain(receipt)) return await settleAlone(db, scope, batch);
  return db.transaction().execute(async (tx) => {
    const { recorded, run } = await settleBatch(tx, scope, { ...batch, settle });
    if (run !== null) await settleRest(tx, scope, { laneId: batch.owner.laneId, runId: receipt.runId, receipt, run });
    return recorded;
  });
}

/**
 * Records a batch that an earlier run read and that the destination acknowledged in the run `runId`: the results of its
 * records count there, and neither run counts them as read. Safe to repeat.
 */
export async function recordCarried(
  db: Db,
  scope: OrgScope,
  { owner, receipt, runId }: { readonly owner: BatchOwner; readonly receipt: Receipt; readonly runId: string },
): Promise<Recorded> {
  return db.transaction().execute(async (tx) => {
    const { recorded, run } = await settleBatch(tx, scope, { owner, receipt: { ...receipt, pages: [] }, settle });
    if (run === null) return recorded;
    await settleRest(tx, scope, { laneId: owner.laneId, runId, receipt, run });
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

interface RestOfBatch extends KeptBack {
  readonly laneId: number;
}

/** Records the parts that few batches have. */
async function settleRest(tx: Db, scope: OrgScope, { laneId, runId, receipt, run }: RestOfBatch): Promise<void> {
  await putSeen(tx, scope, { laneId, receipt });
  await keepQuarantine(tx, scope, { runId, receipt, run });
  await markRetried(tx, scope, receipt.retried);
  await resolveQuarantine(tx, scope, { delivered: deliveredIds(receipt), run });
}

/**
 * Makes ready what recording this very receipt needs: a millisecond for 1,000 records, which {@link recordBatch} need not
 * spend while the next batch waits for it.
 */
export function prepareRecord(receipt: Receipt): void {
  madeAhead.set(receipt, valuesOf(receipt));
}

const madeAhead = new WeakMap<Receipt, ReceiptValues>();

/** One statement records it. */
const isPlain = ({ seen, deleted, quarantine, retried }: Receipt): boolean =>
  [seen, deleted, quarantine, retried].every(({ length }) => length === 0);

const deliveredIds = ({ records }: Receipt): readonly string[] => records.filter(isDelivered).map(columnOf.externalId);

const isDelivered = ({ status }: RecordEntry): boolean => status === 'delivered';

/**
 * Whether the attempt holds its lane, until the end of the transaction. The lock is shared with other batches and
 * excluded by takeLane: either this commits first or it sees the newer fence.
 */
export async function holdsLane(tx: Db, scope: OrgScope, { laneId, fence }: BatchOwner): Promise<boolean> {
  const lane = await tx
    .selectFrom('lanes')
    .select('fence')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', laneId)
    .forShare()
    .executeTakeFirst();
  return lane?.fence === fence;
}

interface RecordedRun {
  readonly connectionId: string;
  readonly resourceKey: string;
}

interface BatchToSettle {
  readonly owner: BatchOwner;
  readonly receipt: Receipt;
}

/** A batch that is one statement. Records that are new are inserted, which takes two thirds of the time of an upsert. */
async function settleAlone(db: Db, scope: OrgScope, batch: BatchToSettle): Promise<Recorded> {
  if (batch.receipt.allNew) {
    try {
      return (await settleBatch(db, scope, { ...batch, settle: settleNew })).recorded;
    } catch (error) {
      // Nothing was changed. A receipt may come from a customer's database and say what it likes.
      if (!isUniqueViolation(error)) throw error;
    }
  }
  return (await settleBatch(db, scope, { ...batch, settle })).recorded;
}

const isUniqueViolation = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '23505';

/** Everything of a batch that nearly every one has. `run` is null unless it was recorded. */
async function settleBatch(
  db: Db,
  scope: OrgScope,
  { owner, receipt, settle: execute }: BatchToSettle & { readonly settle: typeof settle },
): Promise<{ readonly recorded: Recorded; readonly run: RecordedRun | null }> {
  const values = madeAhead.get(receipt) ?? valuesOf(receipt);
  const [row] = await execute(db, { orgId: scope.orgId, laneId: owner.laneId, fence: owner.fence, ...values });
  if (row?.fence !== owner.fence) return { recorded: { outcome: 'fenced' }, run: null };
  const { connectionId, resourceKey, cancelRequestedAt, status } = row;
  if (connectionId === null || resourceKey === null) return { recorded: { outcome: 'stale' }, run: null };
  const stop = cancelRequestedAt !== null || status !== 'running';
  return { recorded: { outcome: 'recorded', stop }, run: { connectionId, resourceKey } };
}

function valuesOf(receipt: Receipt): ReceiptValues {
  const { runId, batchNo, pages, partitions, position, incomplete } = receipt;
  // In the order of the primary key, so that concurrent lanes never lock in opposite orders and the index fills evenly.
  const records = receipt.records.toSorted(byId);
  const list = (of: (record: RecordEntry) => string | null) => textArray(records.map(of));
  const [only] = partitions;
  return {
    runId,
    batchNo,
    pageNo: pages.at(-1)?.pageNo ?? null,
    position: position === null ? null : storableJson(position),
    recordsIn: total(receipt, 'recordsIn'),
    recordsOut: total(receipt, 'recordsOut'),
    skipped: total(receipt, 'skipped'),
    quarantined: total(receipt, 'quarantined'),
    deleted: total(receipt, 'deleted'),
    invalid: total(receipt, 'invalid'),
    incomplete,
    failure: receipt.failure === null ? null : storableText(receipt.failure),
    // Of a resource without partitions; that of several is known when all are read.
    hasWatermark: only?.partition === '',
    watermark: only?.watermark ?? null,
    pages: JSON.stringify(pages),
    externalIds: list(columnOf.externalId),
    hashes: bytesArray(records.map(columnOf.hash)),
    cursors: list(columnOf.cursor),
    statuses: list(columnOf.status),
    fields: list(fieldsText),
    // In a batch of several statements the last of them does it.
    delivered: textArray(isPlain(receipt) ? deliveredIds(receipt) : []),
    partitions: storableJson(partitions),
  };
}

const total = ({ pages }: Receipt, count: Exclude<keyof PageEntry, 'pageNo' | 'requestKey'>): number =>
  pages.reduce((sum, page) => sum + page[count], 0);

const byId = (a: RecordEntry, b: RecordEntry): number => (a.externalId < b.externalId ? -1 : 1);

const fieldsText = ({ fields }: RecordEntry): string | null => (fields === null ? null : storableJson(fields));

interface Settlement extends ReceiptValues {
  readonly orgId: string;
  readonly laneId: number;
  readonly fence: number;
}

/** A receipt as parameters. */
interface ReceiptValues {
  readonly runId: string;
  readonly batchNo: number;
  /** Null: no page is complete. */
  readonly pageNo: number | null;
  readonly position: string | null;
  readonly recordsIn: number;
  readonly recordsOut: number;
  readonly skipped: number;
  readonly quarantined: number;
  readonly deleted: number;
  readonly invalid: number;
  readonly incomplete: boolean;
  readonly failure: string | null;
  readonly hasWatermark: boolean;
  readonly watermark: string | null;
  readonly pages: string;
  readonly externalIds: Buffer;
  readonly hashes: Buffer;
  readonly cursors: Buffer;
  readonly statuses: Buffer;
  readonly fields: Buffer;
  /** Ids whose quarantine rows are closed. */
  readonly delivered: Buffer;
  readonly partitions: string;
}

/** The state of the lane, and the facts of the run that the caller needs; nulls: it was not at the previous batch. */
interface Settled {
  readonly fence: number;
  readonly connectionId: string | null;
  readonly resourceKey: string | null;
  readonly cancelRequestedAt: string | null;
  readonly status: RunStatus | null;
}

/**
 * The lane is locked as in {@link holdsLane}, before the run is. Only the end of a read says of a partition that there
 * were no further changes to its parents.
 */
const settlement = (onConflict: RawBuilder<unknown>) =>
  statement(
    (_, v: Placeholders<Settlement>) => sql<Settled>`
    with lane as (
      select fence from lanes where org_id = ${v.orgId} and id = ${v.laneId} for share
    ), run as (
      update runs set
        batch_no = ${v.batchNo}::int, page_no = coalesce(${v.pageNo}::int, page_no), position = ${v.position}::jsonb,
        read_completed = ${v.position}::text is null and ${v.failure}::text is null,
        records_in = records_in + ${v.recordsIn}::int,
        records_out = records_out + ${v.recordsOut}::int, skipped = skipped + ${v.skipped}::int,
        quarantined = quarantined + ${v.quarantined}::int, deleted = deleted + ${v.deleted}::int,
        invalid = invalid + ${v.invalid}::int, incomplete = incomplete or ${v.incomplete}::bool, attempts = 0,
        error_code = case when status = 'failed' then error_code
          when ${v.failure}::text is not null then 'record_invalid' end,
        error_message = case when status = 'failed' then error_message else ${v.failure}::text end,
        progressed_at = now(),
        watermark_after = case when ${v.hasWatermark}::bool then ${v.watermark}::text else watermark_after end
      where (select fence from lane) = ${v.fence}::bigint and org_id = ${v.orgId} and id = ${v.runId}
        and lane_id = ${v.laneId} and batch_no = ${v.batchNo}::int - 1
      returning connection_id, resource_key, cancel_requested_at, status
    ), pages as (
      insert into run_pages (
        org_id, run_id, batch_no, page_no, request_key, records_in, records_out, skipped, quarantined, deleted, invalid)
      select ${v.orgId}, ${v.runId}, ${v.batchNo}::int, p.*
      from run, json_to_recordset(${v.pages}::json) as p (
        "pageNo" int, "requestKey" text, "recordsIn" int, "recordsOut" int, skipped int, quarantined int, deleted int,
        invalid int)
    ), records as (
      insert into record_state (org_id, lane_id, external_id, hash, cursor, status, fields, changed_at)
      select ${v.orgId}, ${v.laneId}::bigint, r.external_id, r.hash, r.cursor, r.status, r.fields::jsonb,
        case when r.fields is null then null else clock_timestamp() end
      from run, (
        select unnest(${v.externalIds}::text[]) as external_id, unnest(${v.hashes}::bytea[]) as hash,
          unnest(${v.cursors}::text[]) as cursor, unnest(${v.statuses}::text[]) as status,
          unnest(${v.fields}::text[]) as fields
      ) as r
      ${onConflict}
    ), resolved as (
      update quarantine set resolved_at = now()
      from run
      where quarantine.org_id = ${v.orgId} and quarantine.connection_id = run.connection_id
        and quarantine.resource_key = run.resource_key and external_id = any(${v.delivered}::text[])
        and resolved_at is null
    ), read as (
      insert into partitions (org_id, lane_id, partition, watermark, listed_at, validators)
      select ${v.orgId}, ${v.laneId}::bigint, p.partition, p.watermark, (p.completed ->> 'listedAt')::timestamptz,
        nullif(p.completed -> 'validators', 'null')
      from run, jsonb_to_recordset(${v.partitions}::jsonb) as p (partition text, watermark text, completed jsonb)
      on conflict (lane_id, partition) do update set
        watermark = excluded.watermark, updated_at = now(),
        listed_at = coalesce(excluded.listed_at, partitions.listed_at),
        validators = excluded.validators
    )
    select lane.fence, run.* from lane left join run on true`,
  );

const settle = settlement(sql`
      on conflict (lane_id, external_id)
      do update set hash = excluded.hash, cursor = excluded.cursor, status = excluded.status,
        fields = excluded.fields, changed_at = excluded.changed_at`);
const settleNew = settlement(sql``);

/** Notes what a full scan has seen, and what is deleted. */
async function putSeen(
  tx: Db,
  scope: OrgScope,
  { laneId, receipt }: { readonly laneId: number; readonly receipt: Receipt },
): Promise<void> {
  for (const { partition, externalIds } of receipt.seen) {
    await sql`
      update record_state set partition = ${partition}, seen_run = (select seq from runs where id = ${receipt.runId})
      where org_id = ${scope.orgId} and lane_id = ${laneId} and external_id = any(${externalIds}::text[])`.execute(tx);
  }
  if (receipt.deleted.length === 0) return;
  await sql`
    update record_state set status = 'deleted'
    where org_id = ${scope.orgId} and lane_id = ${laneId} and external_id = any(${receipt.deleted}::text[])`.execute(
    tx,
  );
}

interface KeptBack {
  /** The run in which the batch was acknowledged. */
  readonly runId: string;
  readonly receipt: Receipt;
  readonly run: RecordedRun;
}

/** Opens a row for each record kept back: one open row per record. */
async function keepQuarantine(tx: Db, scope: OrgScope, { runId, receipt, run }: KeptBack): Promise<void> {
  const { connectionId, resourceKey } = run;
  for (const entry of receipt.quarantine) {
    const errors = storableJson(entry.errors);
    const rawJson = jsonOrText(entry.rawJson);
    await sql`
      insert into quarantine (
        id, org_id, connection_id, resource_key, external_id, raw_json, each_json, validation_errors, run_id)
      values (${entry.id}, ${scope.orgId}, ${connectionId}, ${resourceKey}, ${entry.externalId},
        ${rawJson}, ${storableJson(entry.each)}, ${errors}, ${runId})
      on conflict (connection_id, resource_key, external_id) where resolved_at is null
      do update set raw_json = excluded.raw_json, each_json = excluded.each_json, validation_errors = excluded.validation_errors, run_id = excluded.run_id`.execute(
      tx,
    );
  }
}

/** Closes the rows of records that are now delivered. */
async function resolveQuarantine(
  tx: Db,
  scope: OrgScope,
  { delivered, run }: { readonly delivered: readonly string[]; readonly run: RecordedRun },
): Promise<void> {
  if (delivered.length === 0) return;
  await tx
    .updateTable('quarantine')
    .set({ resolvedAt: sql`now()` })
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', run.connectionId)
    .where('resourceKey', '=', run.resourceKey)
    .where('externalId', '=', sql<string>`any(${textArray(delivered)}::text[])`)
    .where('resolvedAt', 'is', null)
    .execute();
}

/** A receipt comes from the customer's database: invalid JSON is kept as text, so that the lane continues. */
function jsonOrText(text: string): string {
  try {
    return storableJson(JSON.parse(text));
  } catch {
    return storableJson(text);
  }
}
