import { sql } from 'kysely';
import type { SealedSecret } from '../../../src/core/crypto/secret-box.ts';
import { takenOver } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json/json-object.ts';
import { storableText } from '../../../src/core/json/storable-text.ts';
import type { RecordedRun } from '../../../src/core/run/repair.ts';
import type { Db } from '../../client.ts';
import type { Backfill } from '../../schema.ts';
import type { OrgScope } from '../../scope.ts';
import { type Placeholders, statement } from '../../statement.ts';
import type { BatchOwner } from './batches/batch-owner.ts';

/** The setup with which a run began; a change of its connection applies to the next run only. */
export interface BegunWith {
  readonly specJson: JsonObject;
  readonly specOverridesJson: JsonObject | null;
  readonly paramsJson: JsonObject;
  /** The secrets of the requested kind, as they are now; null: the connection has none. */
  readonly sealed: SealedSecret | null;
}

/** What an attempt at a run needs to continue where the last one stopped. */
export interface Attempt extends Omit<RecordedRun, 'runId'> {
  /** Null: a part of it is not found. */
  readonly begunWith: BegunWith | null;
  readonly laneId: number;
  /** The fence of the previous attempt, of any run. */
  readonly fenceBefore: number;
  readonly startedAt: string | null;
  readonly cancelRequestedAt: string | null;
  /** Attempts since the last recorded batch, this one included. */
  readonly attempts: number;
  /** Place of the run in its lane; later runs have greater ones. */
  readonly seq: number;
  /** The range of a backfill; null: an ordinary run. */
  readonly backfill: Backfill | null;
  /**
   * Fingerprint of the destination that has nothing which is not recorded here; null: it may have more. Whoever asks it for
   * anything calls {@link clearRecordedWith} before.
   */
  readonly recordedWith: string | null;
  /** The last run of the lane was quick (`quickMsMax`). */
  readonly quick: boolean;
  /** Quarantined records of the lane wait for another try. */
  readonly hasRequeued: boolean;
  /** Why the attempt before failed; null: it did not, or there was none. */
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
}

/**
 * The milliseconds by which Temporal's clock may jump back. An attempt is only ever replaced after its heartbeat
 * timeout (5 s), so a late one is older than its successor by more than this.
 */
const clockJumpMsMax = 2000;

const attemptColumns = [
  ...['connection_id', 'resource_key', 'started_at', 'cancel_requested_at', 'batch_no', 'page_no', 'position'],
  ...['read_completed', 'watermark_before', 'records_in', 'invalid', 'seq', 'backfill', 'error_code', 'error_message'],
]
  .map((column) => `runs.${column}`)
  .join(', ');

/**
 * The hours after which the destination is checked even if nothing is to be delivered, since it may have lost its rows.
 */
const recheckHoursMax = 24;

/**
 * Takes the lane for a new attempt at the run: every earlier attempt can record nothing more. Undefined: no such run, or
 * it does not run.
 * Throws `fenced` when the lane is held by a later attempt.
 */
export async function takeLane(
  db: Db,
  scope: OrgScope,
  runId: string,
  { scheduledAtMs, isFirst, secretKind }: TakeOptions,
): Promise<Attempt | undefined> {
  const latestMs = scheduledAtMs + clockJumpMsMax;
  const [taken] = await take(db, { orgId: scope.orgId, runId, scheduledAtMs, latestMs, isFirst, secretKind });
  if (!taken) {
    if (await isRunning(db, scope, runId)) throw takenOver();
    return undefined;
  }
  const { specJson, specOverridesJson, paramsJson, kekId, wrappedKey, nonce, ciphertext, ...attempt } = taken;
  const sealed = kekId && wrappedKey && nonce && ciphertext ? { kekId, wrappedKey, nonce, ciphertext } : null;
  return { ...attempt, begunWith: specJson && { specJson, specOverridesJson, paramsJson, sealed } };
}

/** How a lane is taken. */
export interface TakeOptions {
  /**
   * The time at which Temporal scheduled the attempt, in milliseconds since the epoch. Fences are made of it: an attempt that was
   * handed to a frozen worker and begins long after it was replaced must not take the lane from its successor.
   */
  readonly scheduledAtMs: number;
  /** The run began for this attempt, which is counted already. */
  readonly isFirst: boolean;
  /** The kind of the secrets that the attempt needs. */
  readonly secretKind: string;
}

type TakenRow = Omit<Attempt, 'begunWith'> &
  Omit<BegunWith, 'specJson' | 'sealed'> & { readonly specJson: JsonObject | null } & {
    readonly [Column in keyof SealedSecret]: SealedSecret[Column] | null;
  };

interface Take extends TakeOptions {
  readonly orgId: string;
  readonly runId: string;
  /** A fence after this was made by a later attempt, or with a wrong clock. */
  readonly latestMs: number;
}

/** A fence ahead of the clock of the database was made with a wrong clock and blocks no attempt. */
const take = statement(
  (_, v: Placeholders<Take>) => sql<TakenRow>`
    with before as (
      select lanes.id, lanes.fence, lanes.quick,
        case when lanes.recorded_since > now() - make_interval(hours => ${sql.lit(recheckHoursMax)}) then lanes.recorded_with end
          as recorded_with
      from lanes join runs on runs.lane_id = lanes.id
      where runs.org_id = ${v.orgId} and runs.id = ${v.runId} and runs.status = 'running'
      for no key update of lanes
    ), lane as (
      update lanes set fence = greatest(before.fence + 1, ${v.scheduledAtMs}::bigint),
        -- A mark that has expired is taken away, so that the end of the run makes a new one.
        recorded_with = before.recorded_with, recorded_since = case when before.recorded_with is not null then lanes.recorded_since end
      from before
      where before.id = lanes.id and (
        before.fence <= ${v.latestMs}::bigint
        or before.fence > extract(epoch from now()) * 1000 + ${sql.lit(clockJumpMsMax)})
      returning lanes.id as lane_id, lanes.fence, before.fence as fence_before, before.recorded_with, before.quick
    ), counted as (
      update runs set attempts = attempts + 1, progressed_at = now()
      from lane
      where not ${v.isFirst}::bool and runs.org_id = ${v.orgId} and runs.id = ${v.runId}
      returning attempts
    )
    select lane.*, ${sql.raw(attemptColumns)}, exists (
        select from quarantine
        where quarantine.org_id = runs.org_id and quarantine.connection_id = runs.connection_id
          and quarantine.resource_key = runs.resource_key and requeued_at is not null) as has_requeued,
      coalesce((select counted.attempts from counted), runs.attempts) as attempts,
      spec_json, runs.spec_overrides_json, runs.params_json, kek_id, wrapped_key, nonce, ciphertext
    from lane join runs on runs.org_id = ${v.orgId} and runs.id = ${v.runId}
      join connections on connections.id = runs.connection_id
      left join spec_versions on spec_versions.spec_id = connections.spec_id and spec_versions.version = runs.spec_version
      left join connection_secrets on connection_secrets.org_id = runs.org_id
        and connection_secrets.connection_id = runs.connection_id and connection_secrets.kind = ${v.secretKind}`,
);

/**
 * Notes that from here on the destination of a lane may have what is not recorded here. False: a newer attempt holds
 * the lane.
 */
export async function clearRecordedWith(db: Db, scope: OrgScope, { laneId, fence }: BatchOwner): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('lanes')
    .set({ recordedWith: null, recordedSince: null })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', laneId)
    .where('fence', '=', fence)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

async function isRunning(db: Db, scope: OrgScope, runId: string): Promise<boolean> {
  const running = db
    .selectFrom('runs')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .where('status', '=', 'running');
  return (await running.executeTakeFirst()) !== undefined;
}

/** Ends the count of attempts without progress: the attempt ended in order, for instance because the API asked to wait. */
export async function resetAttempts(db: Db, scope: OrgScope, runId: string): Promise<void> {
  await db
    .updateTable('runs')
    .set({ attempts: 0, errorCode: null, errorMessage: null })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .execute();
}

/** Keeps why an attempt failed: should the next ones get no further, the run ends with it. */
export async function noteFailure(
  db: Db,
  scope: OrgScope,
  { runId, code, message }: { readonly runId: string; readonly code: string; readonly message: string },
): Promise<void> {
  await db
    .updateTable('runs')
    .set({ errorCode: code, errorMessage: storableText(message) })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .where('status', '=', 'running')
    .execute();
}
