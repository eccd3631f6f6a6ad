import { sql } from 'kysely';
import type { SealedSecret } from '../../../src/core/crypto/secret-box.ts';
import { takenOver } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json/json-object.ts';
import { storableText } from '../../../src/core/json/storable-text.ts';
import type { RecordedRun } from '../../../src/core/run/repair.ts';
import type { StoredMeaning } from '../../../src/core/spec/connection/meaning.ts';
import type { Db } from '../../client.ts';
import type { Backfill } from '../../schema.ts';
import type { OrgScope } from '../../scope.ts';
import { type Placeholders, statement } from '../../statement.ts';
import type { BatchOwner } from './batches/batch-owner.ts';

/** Setup with which a run began: a change of its connection applies to the next run only. */
export interface BegunWith {
  readonly specJson: JsonObject;
  readonly specOverridesJson: JsonObject | null;
  readonly paramsJson: JsonObject;
  /** Secrets of the requested kind, as they are now; `null` if the connection has none. */
  readonly sealed: SealedSecret | null;
}

export interface Attempt extends Omit<RecordedRun, 'runId'> {
  /** `null` if a part of it is not found. */
  readonly begunWith: BegunWith | null;
  readonly laneId: number;
  /** Fence of the previous attempt, of any run. */
  readonly fenceBefore: number;
  readonly startedAt: string | null;
  readonly cancelRequestedAt: string | null;
  /** Attempts since the last recorded batch, this one included. */
  readonly attempts: number;
  /** Place of the run in its lane; later runs have greater ones. */
  readonly seq: number;
  readonly backfill: Backfill | null;
  /**
   * Fingerprint of the destination that has nothing beyond what is recorded here; `null` if it may have more. Call
   * {@link clearRecordedWith} before any request to it.
   */
  readonly recordedWith: string | null;
  /** Whether the destination may have records that a restored control database does not know. */
  readonly lacksRecords: boolean;
  /** Whether the last run of the lane was quick (`quickMsMax`). */
  readonly quick: boolean;
  /** Meaning of the lane's stored facts; `null` if it is the run's. */
  readonly meaning: StoredMeaning | null;
  readonly hasRequeued: boolean;
  /** Error of the previous attempt; `null` if it did not fail, or there was none. */
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
}

/**
 * Milliseconds by which Temporal's clock may jump back. An attempt is only replaced after its heartbeat timeout (5 s), so a late
 * one is older than its successor by more than this.
 */
const clockJumpMsMax = 2000;

const attemptColumns = [
  ...[
    'connection_id',
    'resource_key',
    'started_at',
    'cancel_requested_at',
    'attempts',
    'batch_no',
    'page_no',
    'position',
  ],
  ...['read_completed', 'watermark_before', 'records_in', 'invalid', 'seq', 'backfill', 'error_code', 'error_message'],
  ...['spec_overrides_json', 'params_json'],
]
  .map((column) => `(taken.run).${column}`)
  .join(', ');

/** Hours after which the destination is checked even if nothing is to be delivered: it may have lost its rows. */
const recheckHoursMax = 24;

/**
 * Takes the lane for a new attempt: no earlier one can record anything more. Throws `fenced` when a later attempt holds the lane.
 */
export async function takeLane(
  db: Db,
  scope: OrgScope,
  runId: string,
  { scheduledAtMs, isFirst, secretKind }: TakeOptions,
): Promise<Attempt | undefined> {
  const [taken] = await take(db, { orgId: scope.orgId, runId, scheduledAtMs, isFirst, secretKind });
  if (!taken) {
    if (await isRunning(db, scope, runId)) throw takenOver();
    return undefined;
  }
  const { specJson, specOverridesJson, paramsJson, kekId, wrappedKey, nonce, ciphertext, ...attempt } = taken;
  const sealed = kekId && wrappedKey && nonce && ciphertext ? { kekId, wrappedKey, nonce, ciphertext } : null;
  return { ...attempt, begunWith: specJson && { specJson, specOverridesJson, paramsJson, sealed } };
}

export interface TakeOptions {
  /**
   * Time at which Temporal scheduled the attempt, in milliseconds since the epoch. Fences are made of it: an attempt that a
   * frozen worker begins long after its replacement must not take the lane.
   */
  readonly scheduledAtMs: number;
  /** The run began for this attempt, which is counted already. */
  readonly isFirst: boolean;
  readonly secretKind: string;
}

type TakenRow = Omit<Attempt, 'begunWith'> &
  Omit<BegunWith, 'specJson' | 'sealed'> & { readonly specJson: JsonObject | null } & {
    readonly [Column in keyof SealedSecret]: SealedSecret[Column] | null;
  };

interface Take extends TakeOptions {
  readonly orgId: string;
  readonly runId: string;
}

/** The function waits for the lane before it reads anything, so nothing that the attempt relies on changed meanwhile. */
const take = statement(
  (_, v: Placeholders<Take>) => sql<TakenRow>`
    select (taken.lane).id as lane_id, (taken.lane).fence, (taken.before).fence as fence_before,
      (taken.lane).recorded_with, (taken.lane).quick, (taken.lane).lacks_records, (taken.lane).generation, (taken.lane).meaning,
      ${sql.raw(attemptColumns)}, taken.has_requeued,
      taken.spec as spec_json, (taken.secrets).kek_id, (taken.secrets).wrapped_key, (taken.secrets).nonce,
      (taken.secrets).ciphertext
    from take_lane(${v.orgId}, ${v.runId}, ${v.scheduledAtMs}::bigint, ${sql.lit(clockJumpMsMax)}, ${sql.lit(recheckHoursMax)},
      ${v.isFirst}::bool, ${v.secretKind}) taken`,
);

/** The destination may have more than is recorded here from now on; `false` if a newer attempt holds the lane. */
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

/**
 * Resets the count of attempts without progress: the attempt ended in order, for example because the API asked to wait. A run
 * that has ended keeps its error.
 */
export async function resetAttempts(db: Db, scope: OrgScope, runId: string): Promise<void> {
  await db
    .updateTable('runs')
    .set({ attempts: 0, errorCode: null, errorMessage: null })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .where('status', '=', 'running')
    .execute();
}

/** Keeps why an attempt failed: the run ends with this error if the next ones get no further. */
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
