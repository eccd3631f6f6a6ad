import { sql } from 'kysely';
import type { Receipt, RecordEntry } from '../../src/core/pipeline/receipt.ts';
import { storableJson } from '../../src/core/pipeline/storable-json.ts';
import type { RunStatus } from '../../src/core/rows.ts';
import { textArray } from '../../src/core/text-array.ts';
import type { Db } from '../client.ts';
import type { OrgScope } from '../scope.ts';
import { markRetried } from './requeue.ts';

/** An attempt, by the lane that it holds. */
export interface BatchOwner {
  readonly laneId: number;
  /** Of the attempt that records; a newer one makes this one fail. */
  readonly fence: number;
}

/** What recording a batch came to. `stop`: the run was canceled or ended. `stale`: recorded before. `fenced`: a newer attempt holds the lane. */
export type Recorded =
  | { readonly outcome: 'recorded'; readonly stop: boolean }
  | { readonly outcome: 'stale' | 'fenced' };

/**
 * Records a batch: ledger, fingerprints, quarantine, counts, position and watermark in one transaction. Called
 * after the destination has committed the same receipt; safe to repeat, because batch numbers only move by one.
 */
export async function recordBatch(
  db: Db,
  scope: OrgScope,
  { owner, receipt }: { readonly owner: BatchOwner; readonly receipt: Receipt },
): Promise<Recorded> {
  return db.transaction().execute(async (tx) => {
    if (!(await holdsLane(tx, scope, owner))) return { outcome: 'fenced' };
    const run = await advanceRun(tx, scope, { laneId: owner.laneId, receipt });
    if (!run) return { outcome: 'stale' };
    await insertPages(tx, scope, receipt);
    await putRecordStates(tx, scope, { laneId: owner.laneId, receipt });
    await putSeen(tx, scope, { laneId: owner.laneId, receipt });
    await settleQuarantine(tx, scope, { receipt, run });
    await putPartitions(tx, scope, { laneId: owner.laneId, receipt });
    return { outcome: 'recorded', stop: run.cancelRequestedAt !== null || run.status !== 'running' };
  });
}

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

interface AdvancedRun {
  readonly connectionId: string;
  readonly resourceKey: string;
  readonly cancelRequestedAt: string | null;
  readonly status: RunStatus;
}

/** The receipt may come from the customer's database: it moves runs of its own lane only. */
function advanceRun(
  tx: Db,
  scope: OrgScope,
  { laneId, receipt }: { readonly laneId: number; readonly receipt: Receipt },
): Promise<AdvancedRun | undefined> {
  const total = (count: 'recordsIn' | 'recordsOut' | 'skipped' | 'quarantined' | 'deleted' | 'invalid') =>
    receipt.pages.reduce((sum, page) => sum + page[count], 0);
  return tx
    .updateTable('runs')
    .set((eb) => ({
      batchNo: receipt.batchNo,
      pageNo: receipt.pages.at(-1)?.pageNo ?? eb.ref('pageNo'),
      position: receipt.position === null ? null : storableJson(receipt.position),
      readCompleted: receipt.position === null,
      recordsIn: eb('recordsIn', '+', total('recordsIn')),
      recordsOut: eb('recordsOut', '+', total('recordsOut')),
      skipped: eb('skipped', '+', total('skipped')),
      quarantined: eb('quarantined', '+', total('quarantined')),
      deleted: eb('deleted', '+', total('deleted')),
      invalid: eb('invalid', '+', total('invalid')),
      incomplete: receipt.incomplete ? true : eb.ref('incomplete'),
      attempts: 0,
      progressedAt: sql<string>`now()`,
      ...watermarkOf(receipt),
    }))
    .where('orgId', '=', scope.orgId)
    .where('id', '=', receipt.runId)
    .where('laneId', '=', laneId)
    .where('batchNo', '=', receipt.batchNo - 1)
    .returning(['connectionId', 'resourceKey', 'cancelRequestedAt', 'status'])
    .executeTakeFirst();
}

async function insertPages(tx: Db, scope: OrgScope, { runId, batchNo, pages }: Receipt): Promise<void> {
  if (pages.length === 0) return;
  await sql`
    insert into run_pages (
      org_id, run_id, batch_no, page_no, request_key, records_in, records_out, skipped, quarantined, deleted, invalid)
    select ${scope.orgId}, ${runId}, ${batchNo}, p.*
    from json_to_recordset(${JSON.stringify(pages)}) as p (
      "pageNo" int, "requestKey" text, "recordsIn" int, "recordsOut" int, skipped int, quarantined int, deleted int,
      invalid int)`.execute(tx);
}

/** In the order of the primary key, so that concurrent lanes never lock in opposite orders and the index fills evenly. */
async function putRecordStates(
  tx: Db,
  scope: OrgScope,
  { laneId, receipt }: { readonly laneId: number; readonly receipt: Receipt },
): Promise<void> {
  const records = receipt.records.toSorted((a, b) => (a.externalId < b.externalId ? -1 : 1));
  if (records.length === 0) return;
  const list = (of: (record: RecordEntry) => string | null) => textArray(records.map(of));
  await sql`
    insert into record_state (org_id, lane_id, external_id, hash, cursor, status, fields, changed_at)
    select ${scope.orgId}, ${laneId}, r.external_id, decode(r.hash, 'hex'), r.cursor, r.status, r.fields::jsonb,
      case when r.fields is null then null else clock_timestamp() end
    from unnest(
      ${list((r) => r.externalId)}::text[],
      ${list((r) => Buffer.from(r.hash, 'base64url').toString('hex'))}::text[],
      ${list((r) => r.cursor)}::text[],
      ${list((r) => r.status)}::text[],
      ${list((r) => (r.fields === null ? null : storableJson(r.fields)))}::text[]
    ) as r (external_id, hash, cursor, status, fields)
    on conflict (lane_id, external_id)
    do update set hash = excluded.hash, cursor = excluded.cursor, status = excluded.status,
      fields = excluded.fields, changed_at = excluded.changed_at`.execute(tx);
}

/** Notes what a full scan has seen, and what is gone. */
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

/** Opens a row for each record kept back (one open row per record), closes those of records now delivered. */
async function settleQuarantine(
  tx: Db,
  scope: OrgScope,
  { receipt, run }: { readonly receipt: Receipt; readonly run: AdvancedRun },
): Promise<void> {
  const { connectionId, resourceKey } = run;
  for (const entry of receipt.quarantine) {
    const errors = storableJson(entry.errors);
    const rawJson = jsonOrText(entry.rawJson);
    await sql`
      insert into quarantine (
        id, org_id, connection_id, resource_key, external_id, raw_json, each_json, validation_errors, run_id)
      values (${entry.id}, ${scope.orgId}, ${connectionId}, ${resourceKey}, ${entry.externalId},
        ${rawJson}, ${storableJson(entry.each)}, ${errors}, ${receipt.runId})
      on conflict (connection_id, resource_key, external_id) where resolved_at is null
      do update set raw_json = excluded.raw_json, each_json = excluded.each_json, validation_errors = excluded.validation_errors, run_id = excluded.run_id`.execute(
      tx,
    );
  }
  await markRetried(tx, scope, receipt.retried);
  const delivered = receipt.records
    .filter((record) => record.status === 'delivered')
    .map((record) => record.externalId);
  if (delivered.length === 0) return;
  await tx
    .updateTable('quarantine')
    .set({ resolvedAt: sql`now()` })
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('resourceKey', '=', resourceKey)
    .where('externalId', '=', sql<string>`any(${textArray(delivered)}::text[])`)
    .where('resolvedAt', 'is', null)
    .execute();
}

/** A receipt comes from the customer's database: what is no JSON any more is kept as text, so that the lane goes on. */
function jsonOrText(text: string): string {
  try {
    return storableJson(JSON.parse(text));
  } catch {
    return storableJson(text);
  }
}

/** How far each partition is. Only the end of a read says that there were no further changes to its parents. */
async function putPartitions(
  tx: Db,
  scope: OrgScope,
  { laneId, receipt }: { readonly laneId: number; readonly receipt: Receipt },
): Promise<void> {
  if (receipt.partitions.length === 0) return;
  await sql`
    insert into partitions (org_id, lane_id, partition, watermark, listed_at, validators)
    select ${scope.orgId}, ${laneId}, p.partition, p.watermark, (p.completed ->> 'listedAt')::timestamptz,
      nullif(p.completed -> 'validators', 'null')
    from jsonb_to_recordset(${storableJson(receipt.partitions)}::jsonb) as p (partition text, watermark text, completed jsonb)
    on conflict (lane_id, partition) do update set
      watermark = excluded.watermark, updated_at = now(),
      listed_at = coalesce(excluded.listed_at, partitions.listed_at),
      validators = excluded.validators`.execute(tx);
}

/** Of a resource without partitions; that of several is known when all are read. */
function watermarkOf({ partitions }: Receipt): { readonly watermarkAfter?: string | null } {
  const [only] = partitions;
  return only?.partition === '' ? { watermarkAfter: only.watermark } : {};
}
