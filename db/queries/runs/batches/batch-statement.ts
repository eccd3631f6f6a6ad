/** The statement that records a batch, and a receipt as its parameters. */

import { type RawBuilder, sql } from 'kysely';
import { storableJson } from '../../../../src/core/json/storable-json.ts';
import { storableText } from '../../../../src/core/json/storable-text.ts';
import type { LaneKey } from '../../../../src/core/model/lane-key.ts';
import {
  closedIds,
  columnOf,
  isPlain,
  type PageEntry,
  type Receipt,
  type RecordEntry,
} from '../../../../src/core/model/receipt.ts';
import { bytesArray, textArray } from '../../../../src/core/postgres/binary-arrays.ts';
import { durableCommitSql } from '../../../../src/core/postgres/durable-commit.ts';
import type { RunStatus } from '../../../../src/core/resources/run.ts';
import type { Recorded } from '../../../../src/core/run/run-ledger.ts';
import { sortWithPauses } from '../../../../src/core/work/map-with-pauses.ts';
import { nextSlice } from '../../../../src/core/work/slices.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { type Placeholders, statement } from '../../../statement.ts';
import type { BatchOwner } from './batch-owner.ts';

export interface BatchToRecord {
  readonly owner: BatchOwner;
  readonly receipt: Receipt;
  /** Whether the destination applied it, which is the default. A batch that brings nothing is not sent. */
  readonly applied?: boolean;
  /** Whether its records are only inserted, which takes two thirds of the time of an upsert. */
  readonly onlyNew: boolean;
}

export interface RecordedRun extends LaneKey {
  readonly seq: number;
}

/** `run` is `null` unless the batch was recorded. Throws 23505 if a record exists although all are new. */
export async function recordMain(
  db: Db,
  scope: OrgScope,
  { onlyNew, ...batch }: BatchToRecord,
): Promise<{ readonly recorded: Recorded; readonly run: RecordedRun | null }> {
  const [row] = await (onlyNew ? insertNew : upsert)(db, await statementValues(scope, batch));
  if (row?.fence !== batch.owner.fence) return { recorded: { outcome: 'fenced' }, run: null };
  const { connectionId, resourceKey, seq, cancelRequestedAt, status } = row;
  if (connectionId === null || resourceKey === null || seq === null)
    return { recorded: { outcome: 'stale' }, run: null };
  const stop = cancelRequestedAt !== null || status !== 'running';
  return { recorded: { outcome: 'recorded', stop }, run: { connectionId, resourceKey, seq } };
}

/** Prepares this very receipt: a millisecond per 1,000 records, which `recordBatch` need not spend while the next batch waits. */
export function prepareRecord(receipt: Receipt): void {
  const values = valuesOf(receipt);
  // The caller that records it gets the error.
  values.catch(() => undefined);
  madeAhead.set(receipt, values);
}

const madeAhead = new WeakMap<Receipt, Promise<ReceiptValues>>();

/** From this number of records, each list is a slice of work of its own; a usual batch has 1,000. */
const slicedFrom = 5000;

async function valuesOf(receipt: Receipt): Promise<ReceiptValues> {
  const { runId, batchNo, pages, partitions, position, incomplete, notes } = receipt;
  // In primary key order, so that concurrent lanes never lock in opposite orders and the index fills evenly.
  const records = await sortWithPauses(receipt.records, byId);
  const inSlice = async (make: () => Buffer): Promise<Buffer> => {
    if (records.length > slicedFrom) await nextSlice();
    return make();
  };
  const list = (of: (record: RecordEntry) => string | null) => inSlice(() => textArray(records.map(of)));
  const deliveredBefore = new Set(receipt.deliveredBefore);
  const statusOf = ({ externalId, status }: RecordEntry): string =>
    status === 'quarantined' && !deliveredBefore.has(externalId) ? 'undelivered' : status;
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
    notes: isEmpty(notes) ? null : JSON.stringify(notes),
    failure: receipt.failure === null ? null : storableText(receipt.failure),
    // Only for a resource without partitions: the watermark of several is known when all are read.
    hasWatermark: only?.partition === '',
    watermark: only?.watermark ?? null,
    pages: JSON.stringify(pages),
    externalIds: await list(columnOf.externalId),
    hashes: await inSlice(() => bytesArray(records.map(columnOf.hash))),
    cursors: await list(columnOf.cursor),
    statuses: await list(statusOf),
    fields: await list(fieldsText),
    notFetched: textArray(receipt.notFetched ?? []),
    // In a batch of several statements, the last of them closes rows.
    closed: await inSlice(() => textArray(isPlain(receipt) ? closedIds(receipt) : [])),
    partitions: storableJson(partitions),
  };
}

export const total = ({ pages }: Receipt, count: Exclude<keyof PageEntry, 'pageNo' | 'requestKey'>): number =>
  pages.reduce((sum, page) => sum + page[count], 0);

const isEmpty = (notes: Receipt['notes']): boolean => Object.keys(notes).length === 0;

const byId = (a: RecordEntry, b: RecordEntry): number => (a.externalId < b.externalId ? -1 : 1);

const fieldsText = ({ fields }: RecordEntry): string | null => (fields === null ? null : storableJson(fields));

export async function statementValues(
  { orgId }: OrgScope,
  { owner: { laneId, fence }, receipt, applied = true }: Omit<BatchToRecord, 'onlyNew'>,
): Promise<StatementValues> {
  return { orgId, laneId, fence, applied, ...(await (madeAhead.get(receipt) ?? valuesOf(receipt))) };
}

export interface StatementValues extends ReceiptValues {
  readonly orgId: string;
  readonly laneId: number;
  readonly fence: number;
  readonly applied: boolean;
}

interface ReceiptValues {
  readonly runId: string;
  readonly batchNo: number;
  /** Last complete page; `null` if none is complete. */
  readonly pageNo: number | null;
  readonly position: string | null;
  readonly recordsIn: number;
  readonly recordsOut: number;
  readonly skipped: number;
  readonly quarantined: number;
  readonly deleted: number;
  readonly invalid: number;
  readonly incomplete: boolean;
  readonly notes: string | null;
  readonly failure: string | null;
  readonly hasWatermark: boolean;
  readonly watermark: string | null;
  readonly pages: string;
  readonly externalIds: Buffer;
  readonly hashes: Buffer;
  readonly cursors: Buffer;
  readonly statuses: Buffer;
  readonly fields: Buffer;
  readonly notFetched: Buffer;
  /** External ids of records whose quarantine rows end. */
  readonly closed: Buffer;
  readonly partitions: string;
}

/** All but `fence` are `null` if the run was not at the previous batch. */
interface StatementRow {
  readonly fence: number;
  readonly connectionId: string | null;
  readonly resourceKey: string | null;
  readonly seq: number | null;
  readonly cancelRequestedAt: string | null;
  readonly status: RunStatus | null;
}

interface RecordParts {
  /** For records that exist already; without it, they are refused. */
  readonly onConflict?: RawBuilder<unknown>;
  /** More assignments to the run, after a leading comma, and conditions on it. */
  readonly set?: RawBuilder<unknown>;
  readonly where?: RawBuilder<unknown>;
  readonly pagesWhere?: RawBuilder<unknown>;
  /** Columns of the run, with `connection_id` and `resource_key` among them. */
  readonly returning: RawBuilder<unknown>;
}

/** A partition keeps these values until a batch sets others. */
const keptColumns = ['listed_at', 'first_start', 'read_at', 'deletions_to', 'shape'];
const kept = {
  set: sql.raw(keptColumns.map((name) => `${name} = coalesce(excluded.${name}, partitions.${name})`).join(', ')),
  isOther: sql.raw(
    keptColumns
      .map((name) => `excluded.${name} is distinct from partitions.${name} and excluded.${name} is not null`)
      .join(' or '),
  ),
} as const;

/**
 * The lane is locked as in {@link holdsLane}, before the run is. Only the end of a read shows that a partition's parents had no
 * further changes.
 */
export const recordSql = <Row>(
  v: Placeholders<StatementValues>,
  { onConflict = sql``, set = sql``, where = sql``, pagesWhere = sql``, returning }: RecordParts,
): RawBuilder<Row> => sql<Row>`
    with lane as (
      select fence, ${sql.raw(durableCommitSql('transaction'))} from lanes
      where org_id = ${v.orgId} and id = ${v.laneId} for share
    ), run as (
      update runs set
        batch_no = ${v.batchNo}::int, applied_no = case when ${v.applied}::bool then ${v.batchNo}::int else applied_no end,
        page_no = coalesce(${v.pageNo}::int, page_no), position = ${v.position}::jsonb,
        read_completed = ${v.position}::text is null and ${v.failure}::text is null,
        records_in = records_in + ${v.recordsIn}::int,
        records_out = records_out + ${v.recordsOut}::int, skipped = skipped + ${v.skipped}::int,
        quarantined = quarantined + ${v.quarantined}::int, deleted = deleted + ${v.deleted}::int,
        invalid = invalid + ${v.invalid}::int, incomplete = incomplete or ${v.incomplete}::bool, attempts = 0,
        notes = case when ${v.notes}::text is null then notes else (
          select jsonb_object_agg(key, total) from (
            select key, sum(value::bigint) as total
            from (select * from jsonb_each_text(notes) union all select * from jsonb_each_text(${v.notes}::jsonb)) each
            group by key) counted) end,
        error_code = case when status = 'failed' then error_code
          when ${v.failure}::text is not null then 'record_invalid' end,
        error_message = case when status = 'failed' then error_message else ${v.failure}::text end,
        progressed_at = now(),
        watermark_after = case when ${v.hasWatermark}::bool then ${v.watermark}::text else watermark_after end
        ${set}
      where (select fence from lane) = ${v.fence}::bigint and org_id = ${v.orgId} and id = ${v.runId}
        and lane_id = ${v.laneId} and batch_no = ${v.batchNo}::int - 1 ${where}
      returning ${returning}
    ), pages as (
      insert into run_pages (
        org_id, run_id, batch_no, page_no, request_key, records_in, records_out, skipped, quarantined, deleted, invalid)
      select ${v.orgId}, ${v.runId}, ${v.batchNo}::int, p.*
      from run, json_to_recordset(${v.pages}::json) as p (
        "pageNo" int, "requestKey" text, "recordsIn" int, "recordsOut" int, skipped int, quarantined int, deleted int,
        invalid int)
      ${pagesWhere}
    ), records as (
      insert into record_state (lane_id, external_id, hash, cursor, status, undelivered, fields, changed_at)
      select ${v.laneId}::bigint, r.external_id, r.hash, r.cursor,
        case when r.status = 'undelivered' then 'quarantined' else r.status end::record_status,
        case when r.status = 'undelivered' then true end, r.fields::jsonb,
        case when r.fields is null then null else clock_timestamp() end
      from run, (
        select unnest(${v.externalIds}::text[]) as external_id, unnest(${v.hashes}::bytea[]) as hash,
          unnest(${v.cursors}::text[]) as cursor, unnest(${v.statuses}::text[]) as status,
          unnest(${v.fields}::text[]) as fields
      ) as r
      ${onConflict}
    ), resolved as (
      update quarantine set resolved_at = coalesce(resolved_at, now()), requeued_at = null
      from run
      where quarantine.org_id = ${v.orgId} and quarantine.connection_id = run.connection_id
        and quarantine.resource_key = run.resource_key and external_id = any(${v.closed}::text[])
        and (resolved_at is null or requeued_at is not null)
    ), read as (
      insert into partitions (
        org_id, lane_id, partition, watermark, listed_at, validators, first_start, read_at, deletions_to, shape)
      select ${v.orgId}, ${v.laneId}::bigint, p.partition, p.watermark, (p.completed ->> 'listedAt')::timestamptz,
        nullif(p.completed -> 'validators', 'null'), p."firstStart", (p.completed ->> 'readAt')::timestamptz,
        p.completed ->> 'deletionsTo', p.shape
      from run, jsonb_to_recordset(${v.partitions}::jsonb) as p (
        partition text, watermark text, completed jsonb, "firstStart" text, shape text)
      on conflict (lane_id, partition) do update set
        watermark = excluded.watermark, updated_at = now(), validators = excluded.validators, ${kept.set}
      where (partitions.watermark, partitions.validators) is distinct from (excluded.watermark, excluded.validators)
        or ${kept.isOther}
    )
    select lane.fence, run.* from lane left join run on true`;

const returning = sql`connection_id, resource_key, seq, cancel_requested_at, status`;
const update = ({ notFetched }: Placeholders<StatementValues>) => sql`
      on conflict (lane_id, external_id)
      do update set hash = excluded.hash, cursor = excluded.cursor, status = excluded.status,
        undelivered = case
          when excluded.undelivered and (record_state.undelivered or record_state.status = 'deleted') then true end,
        fields = excluded.fields, changed_at = excluded.changed_at,
        flagged_run = case when excluded.external_id = any(${notFetched}::text[]) then record_state.flagged_run end`;
const upsert = statement((_, v: Placeholders<StatementValues>) =>
  recordSql<StatementRow>(v, { onConflict: update(v), returning }),
);
const insertNew = statement((_, v: Placeholders<StatementValues>) => recordSql<StatementRow>(v, { returning }));
