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
  /** What the facts stored of the lane are about; null: what the run says. */
  readonly meaning: StoredMeaning | null;
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
  const [taken] = await take(db, { orgId: scope.orgId, runId, scheduledAtMs, isFirst, secretKind });
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
}

/** The function waits for the lane before it reads anything: what the attempt goes by was not changed meanwhile. */
const take = statement(
  (_, v: Placeholders<Take>) => sql<TakenRow>`
    select (taken.lane).id as lane_id, (taken.lane).fence, (taken.before).fence as fence_before,
      (taken.lane).recorded_with, (taken.lane).quick, (taken.lane).generation, (taken.lane).meaning,
      ${sql.raw(attemptColumns)}, taken.has_requeued,
      taken.spec as spec_json, (taken.secrets).kek_id, (taken.secrets).wrapped_key, (taken.secrets).nonce,
      (taken.secrets).ciphertext
    from take_lane(${v.orgId}, ${v.runId}, ${v.scheduledAtMs}::bigint, ${sql.lit(clockJumpMsMax)}, ${sql.lit(recheckHoursMax)},
      ${v.isFirst}::bool, ${v.secretKind}) taken`,
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

/**
 * Ends the count of attempts without progress: the attempt ended in order, for instance because the API asked to wait. A run
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
