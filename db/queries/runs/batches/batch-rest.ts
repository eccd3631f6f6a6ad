import { type RawBuilder, sql } from 'kysely';
import { storableJson } from '../../../../src/core/json/storable-json.ts';
import type { LaneKey } from '../../../../src/core/model/lane-key.ts';
import type { QuarantineEntry, Receipt } from '../../../../src/core/model/receipt.ts';
import { textArray } from '../../../../src/core/postgres/binary-arrays.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { markRetried } from '../records/requeue.ts';
import { putCoverage } from './batch-coverage.ts';
import { deliveredIds, type RecordedRun } from './batch-statement.ts';

interface RestOfBatch extends KeptBack {
  readonly laneId: number;
}

/** Records the parts that few batches have. */
export async function recordRest(tx: Db, scope: OrgScope, { laneId, runId, receipt, run }: RestOfBatch): Promise<void> {
  await putCoverage(tx, scope, { laneId, receipt, seq: run.seq });
  await keepQuarantine(tx, scope, { runId, receipt, run });
  await markRetried(tx, scope, receipt);
  await resolveQuarantine(tx, scope, { delivered: deliveredIds(receipt), run });
  await tryAgain(tx, scope, { runId, receipt, run });
}

interface KeptBack {
  /** The run in which the batch was acknowledged. */
  readonly runId: string;
  readonly receipt: Receipt;
  readonly run: RecordedRun;
}

/**
 * Opens a row for each record kept back: one open row per record, with the last of its versions. A statement for each of
 * 100,000 records would hold a connection, which all orgs share, for some 20 s.
 */
async function keepQuarantine(tx: Db, scope: OrgScope, { runId, receipt, run }: KeptBack): Promise<void> {
  const { connectionId, resourceKey } = run;
  const versions = new Map(receipt.quarantine.map((entry) => [entry.externalId.toWellFormed(), entry]));
  for (const part of statementsOf([...versions.values()])) {
    await sql`
      insert into quarantine (
        id, external_id, raw_json, each_json, validation_errors, requeued_at, org_id, connection_id, resource_key, run_id)
      select id, external_id, raw, each, errors, case when is_awaited then now() end, ${scope.orgId}, ${connectionId},
        ${resourceKey}, ${runId}
      from ${rowsOf(part)}
      on conflict (connection_id, resource_key, external_id) where resolved_at is null
      do update set raw_json = excluded.raw_json, each_json = excluded.each_json,
        validation_errors = excluded.validation_errors, run_id = excluded.run_id,
        requeued_at = excluded.requeued_at`.execute(tx);
  }
}

/**
 * Keeps the records that were delivered although a step failed for them, so that the next run begins with them. Their rows
 * count as resolved: nothing is kept back.
 */
async function tryAgain(tx: Db, scope: OrgScope, { runId, receipt, run }: KeptBack): Promise<void> {
  const { connectionId, resourceKey } = run;
  for (const part of statementsOf(receipt.again ?? [])) {
    await sql`
      insert into quarantine (
        id, external_id, raw_json, each_json, validation_errors, org_id, connection_id, resource_key, run_id,
        resolved_at, requeued_at)
      select id, external_id, raw, each, errors, ${scope.orgId}, ${connectionId}, ${resourceKey}, ${runId}, now(), now()
      from ${rowsOf(part)}
      on conflict (id) do nothing`.execute(tx);
  }
}

/** Entries as rows: id, external id, record, values of its partition, errors, and whether they are tried by each run. */
function rowsOf(entries: readonly QuarantineEntry[]): RawBuilder<unknown> {
  const list = (of: (entry: QuarantineEntry) => string) => textArray(entries.map(of));
  return sql`(
    select id, external_id, raw::jsonb as raw, each::jsonb as each, errors::jsonb as errors, is_awaited::bool as is_awaited
    from unnest(
      ${list(({ id }) => id)}::text[], ${list(({ externalId }) => externalId)}::text[],
      ${list(({ rawJson }) => jsonOrText(rawJson))}::text[], ${list(({ each }) => storableJson(each))}::text[],
      ${list(({ errors }) => storableJson(errors))}::text[],
      ${list(({ isAwaited }) => String(isAwaited === true))}::text[]
    ) as entry (id, external_id, raw, each, errors, is_awaited)) as entries`;
}

/** Records, and characters of them, of one statement. */
const keptAtOnce = { records: 500, chars: 1_000_000 } as const;

function* statementsOf(entries: readonly QuarantineEntry[]): Generator<readonly QuarantineEntry[]> {
  let from = 0;
  let chars = 0;
  for (const [index, { rawJson }] of entries.entries()) {
    chars += rawJson.length;
    if (index + 1 - from < keptAtOnce.records && chars < keptAtOnce.chars) continue;
    yield entries.slice(from, index + 1);
    from = index + 1;
    chars = 0;
  }
  if (from < entries.length) yield entries.slice(from);
}

/** Closes the rows of records that are now delivered. */
async function resolveQuarantine(
  tx: Db,
  scope: OrgScope,
  { delivered, run }: { readonly delivered: readonly string[]; readonly run: LaneKey },
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
