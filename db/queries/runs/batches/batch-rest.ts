import { sql } from 'kysely';
import { storableJson } from '../../../../src/core/json/storable-json.ts';
import { storableText } from '../../../../src/core/json/storable-text.ts';
import type { LaneKey } from '../../../../src/core/model/lane-key.ts';
import {
  closedIds,
  type QuarantineEntry,
  type Receipt,
  type RecordVersion,
} from '../../../../src/core/model/receipt.ts';
import { textArray } from '../../../../src/core/postgres/binary-arrays.ts';
import type { Db } from '../../../client.ts';
import type { OrgScope } from '../../../scope.ts';
import { markRetried } from '../records/requeue.ts';
import { putCoverage } from './batch-coverage.ts';
import type { RecordedRun } from './batch-statement.ts';

interface RestOfBatch extends KeptBack {
  readonly laneId: number;
}

/** Records the parts that few batches have. */
export async function recordRest(tx: Db, scope: OrgScope, { laneId, runId, receipt, run }: RestOfBatch): Promise<void> {
  await putCoverage(tx, scope, { laneId, receipt, seq: run.seq });
  const closed = closedIds(receipt);
  // A transaction that requeues one of these rows has done so before, or finds it closed.
  await lockLiveRows(tx, scope, {
    run,
    externalIds: [...closed, ...idsOf(receipt.closesVersions), ...idsOf(receipt.quarantine)],
  });
  await markRetried(tx, scope, { ...run, runId, ids: receipt.retried });
  await keepQuarantine(tx, scope, { runId, receipt, run });
  await closeRows(tx, scope, { run, closed, versions: receipt.closesVersions });
  await tryAgain(tx, scope, { runId, receipt, run });
}

const idsOf = (records: readonly { readonly externalId: string }[]): readonly string[] =>
  records.map(({ externalId }) => externalId);

interface KeptBack {
  /** Run in which the batch was acknowledged. */
  readonly runId: string;
  readonly receipt: Receipt;
  readonly run: RecordedRun;
}

/** Waits for transactions that change rows of these records that are open or wait for another try. */
async function lockLiveRows(
  tx: Db,
  scope: OrgScope,
  { run, externalIds }: Pick<KeptBack, 'run'> & { readonly externalIds: readonly string[] },
): Promise<void> {
  if (externalIds.length === 0) return;
  await sql`
    select from quarantine where ${isLive(scope, run, externalIds)} order by id for no key update`.execute(tx);
}

const isLive = ({ orgId }: OrgScope, { connectionId, resourceKey }: LaneKey, externalIds: readonly string[]) => sql`
  org_id = ${orgId} and connection_id = ${connectionId} and resource_key = ${resourceKey}
  and external_id = any(${textArray(externalIds)}::text[]) and (resolved_at is null or requeued_at is not null)`;

/**
 * Opens one row per record, with its last version, or one per version where each counts. A newer version ends the retry of an
 * older one. A row that was tried again is reopened, unless a newer one is open. A statement per record would hold a connection,
 * which all orgs share, for some 20 s at 100,000 records.
 */
async function keepQuarantine(tx: Db, scope: OrgScope, kept: KeptBack): Promise<void> {
  const entries = kept.receipt.quarantine.map((entry) => ({ ...entry, externalId: entry.externalId.toWellFormed() }));
  const versions = new Map(entries.map((entry) => [`${entry.version} ${entry.externalId}`, entry]));
  const last = [...versions.values()];
  const [again, anew] = splitByAgain(last);
  for (const part of statementsOf(again)) await openAgain(tx, scope, { ...kept, part });
  for (const part of statementsOf(anew)) {
    await forgetRequests(tx, scope, { run: kept.run, part });
    await openAnew(tx, scope, { ...kept, part });
  }
}

/** Those that have a row already, each of these once, and the others. */
function splitByAgain(entries: readonly QuarantineEntry[]): readonly [QuarantineEntry[], QuarantineEntry[]] {
  const again = new Map(entries.filter(({ isAgain }) => isAgain).map((entry) => [entry.id, entry]));
  return [[...again.values()], entries.filter(({ isAgain }) => !isAgain)];
}

interface Part extends Pick<KeptBack, 'run'> {
  readonly part: readonly QuarantineEntry[];
}

function entriesAs(part: readonly QuarantineEntry[]) {
  const list = (of: (entry: QuarantineEntry) => string) => textArray(part.map(of));
  return sql`unnest(
    ${list(({ id }) => id)}::text[], ${list(({ externalId }) => externalId)}::text[], ${list(({ version }) => version)}::text[],
    ${list(({ rawJson }) => jsonOrText(rawJson))}::text[], ${list(({ each }) => storableJson(each))}::text[],
    ${list(({ sealed = '' }) => storableText(sealed))}::text[], ${list(({ errors }) => storableJson(errors))}::text[],
    ${list(({ isAwaited }) => String(isAwaited === true))}::text[]::bool[]
  ) as q (id, external_id, version, raw, each, sealed, errors, is_awaited)`;
}

const isRow = ({ orgId }: OrgScope, { connectionId, resourceKey }: LaneKey) => sql`
  quarantine.org_id = ${orgId} and quarantine.id = q.id and quarantine.connection_id = ${connectionId}
  and quarantine.resource_key = ${resourceKey}`;

async function openAnew(tx: Db, scope: OrgScope, { run, runId, part }: Part & KeptBack): Promise<void> {
  await sql`
    insert into quarantine (
      id, org_id, connection_id, resource_key, external_id, version, raw_json, each_json, sealed_json, validation_errors,
      run_id, requeued_at)
    select q.id, ${scope.orgId}, ${run.connectionId}, ${run.resourceKey}, q.external_id, q.version, q.raw::jsonb,
      q.each::jsonb, nullif(q.sealed, ''), q.errors::jsonb, ${runId}, case when q.is_awaited then now() end
    from ${entriesAs(part)}
    on conflict (connection_id, resource_key, external_id, version) where resolved_at is null
    do update set raw_json = excluded.raw_json, each_json = excluded.each_json, sealed_json = excluded.sealed_json,
      validation_errors = excluded.validation_errors, run_id = excluded.run_id,
      requeued_at = excluded.requeued_at`.execute(tx);
}

/** The spec may give a record another id than it had. */
async function openAgain(tx: Db, scope: OrgScope, { run, runId, part }: Part & KeptBack): Promise<void> {
  await sql`
    update quarantine set external_id = q.external_id, resolved_at = null,
      requeued_at = case when q.is_awaited then now() end, validation_errors = q.errors::jsonb, run_id = ${runId}
    from ${entriesAs(part)}
    where ${isRow(scope, run)}
      and not exists (
        select from quarantine other
        where other.connection_id = ${run.connectionId} and other.resource_key = ${run.resourceKey}
          and other.external_id = q.external_id and other.version = quarantine.version and other.resolved_at is null
          and other.id <> quarantine.id)`.execute(tx);
}

/** Records that were delivered although a step failed: the next run begins with them, but nothing is kept back. */
async function tryAgain(tx: Db, scope: OrgScope, { runId, receipt, run }: KeptBack): Promise<void> {
  const [again, anew] = splitByAgain(receipt.again ?? []);
  for (const part of statementsOf(again)) {
    await sql`
      update quarantine set external_id = q.external_id, validation_errors = q.errors::jsonb, run_id = ${runId},
        resolved_at = coalesce(resolved_at, now()), requeued_at = now()
      from ${entriesAs(part)}
      where ${isRow(scope, run)}`.execute(tx);
  }
  for (const part of statementsOf(anew)) {
    await sql`
      insert into quarantine (
        id, org_id, connection_id, resource_key, external_id, version, raw_json, each_json, sealed_json, validation_errors,
        run_id, resolved_at, requeued_at)
      select q.id, ${scope.orgId}, ${run.connectionId}, ${run.resourceKey}, q.external_id, q.version, q.raw::jsonb,
        q.each::jsonb, nullif(q.sealed, ''), q.errors::jsonb, ${runId}, now(), now()
      from ${entriesAs(part)}
      on conflict (id) do nothing`.execute(tx);
  }
}

async function forgetRequests(tx: Db, scope: OrgScope, { run, part }: Part): Promise<void> {
  await sql`
    update quarantine set requeued_at = null from ${entriesAs(part)}
    where quarantine.org_id = ${scope.orgId} and quarantine.connection_id = ${run.connectionId}
      and quarantine.resource_key = ${run.resourceKey} and quarantine.external_id = q.external_id
      and quarantine.version = q.version and quarantine.requeued_at is not null`.execute(tx);
}

const keptAtOnce = { records: 500, chars: 1_000_000 } as const;

function* statementsOf(entries: readonly QuarantineEntry[]): Generator<readonly QuarantineEntry[]> {
  let from = 0;
  let chars = 0;
  for (const [index, { rawJson, sealed = '' }] of entries.entries()) {
    chars += rawJson.length + sealed.length;
    if (index + 1 - from < keptAtOnce.records && chars < keptAtOnce.chars) continue;
    yield entries.slice(from, index + 1);
    from = index + 1;
    chars = 0;
  }
  if (from < entries.length) yield entries.slice(from);
}

async function closeRows(
  tx: Db,
  scope: OrgScope,
  {
    run,
    closed,
    versions,
  }: Pick<KeptBack, 'run'> & { readonly closed: readonly string[]; readonly versions: readonly RecordVersion[] },
): Promise<void> {
  const closing = sql`update quarantine set resolved_at = coalesce(resolved_at, now()), requeued_at = null`;
  if (closed.length > 0) await sql`${closing} where ${isLive(scope, run, closed)}`.execute(tx);
  if (versions.length === 0) return;
  const ids = idsOf(versions);
  // Rows of an earlier version of the service do not say which version they hold.
  await sql`
    ${closing} from unnest(${textArray(ids)}::text[], ${textArray(versions.map(({ version }) => version))}::text[])
      as v (external_id, version)
    where quarantine.external_id = v.external_id and quarantine.version in ('', v.version)
      and quarantine.id in (select id from quarantine where ${isLive(scope, run, ids)})`.execute(tx);
}

/** A receipt comes from the customer's database: invalid JSON is kept as text, so that the lane continues. */
function jsonOrText(text: string): string {
  try {
    return storableJson(JSON.parse(text));
  } catch {
    return storableJson(text);
  }
}
