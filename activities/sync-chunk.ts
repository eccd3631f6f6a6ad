/**
 * A chunk of a run: many pages, until the read ends or a boundary is reached. One activity per page would cost 10 to 50 ms
 * each; inside a chunk a page costs only its own work.
 *
 * Safe to run twice, even concurrently: taking the lane fences off every earlier attempt, at the destination and in the
 * control database. After a crash before the destination commits, pages in flight are fetched again. Between the two commits,
 * the ledger is repaired from the destination's receipt; a crash after both costs nothing (test/crash/kill-points.test.ts,
 * handover.test.ts for two at the same time).
 */

import type { ApplicationFailure } from '@temporalio/common';
import { type Attempt, noteFailure, resetAttempts, takeLane } from '../db/queries/runs/attempts.ts';
import { takeUpAccess } from '../db/queries/runs/take-up-access.ts';
import { type OrgScope, orgScope } from '../db/scope.ts';
import { paramsSecretKind } from '../src/connect/secrets.ts';
import { secretTexts } from '../src/connect/setup.ts';
import { AppError } from '../src/core/errors.ts';
import { maskError } from '../src/core/http/mask-error.ts';
import { createRedactor } from '../src/core/http/redact.ts';
import { ThrottledError } from '../src/core/model/throttled.ts';
import type { Deps } from '../src/deps.ts';
import { type ChunkResult, nothingRead, type SyncRunInput } from '../workflows/contract.ts';
import { throwUnlessShutdown, unlessCanceled } from './canceling.ts';
import { isRefusal, retriesExhausted, toRetry } from './failures.ts';
import type { NewLanes } from './new-lanes.ts';
import { openRun } from './open-run.ts';
import { cancelMsMax, nothingInTime, type ReadDeps, readOn } from './read-on.ts';
import { type Ending, endRun } from './run-lifecycle.ts';
import { setupOf } from './run-setup.ts';

/** Milliseconds below which a run is quick: the next one of its lane is then tried within its workflow task. */
const quickMsMax = 800;
/** Attempts without a recorded batch after which the run fails: the progress-aware retry budget. */
const attemptsMax = 12;
/** Attempts after an error without a code, mostly a bug: with their delays they take 21 s. */
const unexpectedAttemptsMax = 8;

export interface ChunkDeps extends Deps, ReadDeps {
  readonly newLanes: NewLanes;
}

export interface ChunkLimits {
  /** Aborted by a cancel of the run, or by a shutdown of the worker. */
  readonly canceled: AbortSignal;
  readonly msMax: number;
  /** When Temporal scheduled the attempt, in milliseconds since the epoch; see takeLane. */
  readonly scheduledAtMs: number;
  readonly isFirst: boolean;
}

export const chunkMsMax = 60_000;

export async function advanceRun(deps: ChunkDeps, input: SyncRunInput, limits: ChunkLimits): Promise<ChunkResult> {
  const { result, ...ending } = await readUnlessCanceled(deps, input, limits);
  if (!result.done) return result;
  const outcome = { status: result.limited ? 'partial' : 'succeeded', error: null } as const;
  return { ...result, totals: await endRun(deps, input, { ...ending, outcome }) };
}

export const waitsForTurn: ChunkResult = { ...nothingRead, waiting: true };

/** Stores the cause for the run row, in case no later attempt makes progress; never throws. */
export async function noteAttemptFailure(
  deps: Pick<Deps, 'db' | 'log'>,
  { orgId, runId }: SyncRunInput,
  { type, message, nonRetryable }: ApplicationFailure,
): Promise<void> {
  if (nonRetryable) return;
  try {
    await noteFailure(deps.db, orgScope(orgId), { runId, code: type ?? 'internal', message });
  } catch (cause) {
    deps.log.warn('cause of the failure not stored', { error: cause });
  }
}

/** `owner` is `null` if nothing was left to read. */
interface ReadChunk extends Omit<Ending, 'outcome'> {
  readonly result: ChunkResult;
  readonly owner: Attempt | null;
}

/** A canceled chunk ends soon, even if the customer's systems hang. */
function readUnlessCanceled(deps: ChunkDeps, input: SyncRunInput, limits: ChunkLimits): Promise<ReadChunk> {
  return unlessCanceled(limits.canceled, cancelMsMax, (resources) => readChunk(deps, input, { ...limits, resources }));
}

async function readChunk(
  deps: ChunkDeps,
  input: SyncRunInput,
  { canceled, resources, ...limits }: ChunkLimits & { readonly resources: AsyncDisposableStack },
): Promise<ReadChunk> {
  const scope = orgScope(input.orgId);
  const attempt = await takeLane(deps.db, scope, input.runId, { ...limits, secretKind: paramsSecretKind });
  if (!attempt || attempt.cancelRequestedAt) return { result: nothingToRead, owner: attempt ?? null };
  const mostAttempts = attempt.errorCode === 'internal' ? unexpectedAttemptsMax : attemptsMax;
  if (attempt.attempts > mostAttempts) throw retriesExhausted(attempt);
  // Recorded with a batch, so it stays valid even if that attempt failed later.
  if (attempt.errorCode === 'record_invalid') throw new AppError('record_invalid', attempt.errorMessage ?? '');
  const begunAt = performance.now();
  const chunk = { ...limits, runId: input.runId, attempt, canceled, resources };
  const read = await readOrPause(deps, scope, chunk).catch((error: unknown) => unlessMended(deps, scope, input, error));
  const { result, recordedWith, isUntouched, ...ending } = read;
  // An attempt that has read the run to its end also ends it, so its number still counts.
  if (result.done) deps.newLanes.leave(attempt.laneId);
  else await resetAttempts(deps.db, scope, input.runId);
  // A complete read ends the run even if it was canceled meanwhile.
  if (!ending.last) throwUnlessShutdown(canceled);
  const quick = limits.isFirst && performance.now() - begunAt < quickMsMax;
  const isSame = isUntouched && quick === attempt.quick;
  return { ...ending, result, owner: attempt, left: recordedWith === null || isSame ? null : { recordedWith, quick } };
}

interface ReadOrPaused extends Pick<Ending, 'last' | 'hasPartitions' | 'keepsLookups'> {
  readonly result: ChunkResult;
  /** Fingerprint of the destination if everything there is recorded, otherwise `null`. */
  readonly recordedWith: string | null;
  /** True if the destination was not called, so the mark on the lane is still valid. */
  readonly isUntouched: boolean;
}

interface Chunk extends Pick<ChunkLimits, 'msMax' | 'isFirst'> {
  readonly runId: string;
  readonly attempt: Attempt;
  readonly canceled: AbortSignal;
  readonly resources: AsyncDisposableStack;
}

/**
 * The workflow's timer waits for pauses of source or destination. Errors contain no secret of the connection: they are
 * stored, logged and shown.
 */
async function readOrPause(deps: ChunkDeps, scope: OrgScope, chunk: Chunk): Promise<ReadOrPaused> {
  const { attempt, resources } = chunk;
  const setup = await setupOf(deps, scope, attempt);
  const redactor = createRedactor(secretTexts(setup));
  const startedAt = new Date(attempt.startedAt ?? Date.now());
  const { limits } = setup.resource;
  const endsAtMs = startedAt.getTime() + limits.maxDurationSeconds * 1000;
  try {
    let limitedUntilMs = 0;
    const onRateLimit = (waitMs: number) => {
      limitedUntilMs = Math.max(limitedUntilMs, Date.now() + waitMs);
    };
    const { newLanes } = deps;
    const run = await openRun(deps, scope, { ...chunk, setup, startedAt, newLanes, redactor, onRateLimit, resources });
    if (run.start.readCompleted) return notRecorded({ ...nothingToRead, pages: run.start.pageNo });
    const isRateLimited = () => Date.now() < limitedUntilMs;
    const result = await readOn(deps, run, { limits, endsAtMs, isRateLimited, ...chunk });
    const isRecorded = result.done && !run.delivery.stopped && !chunk.canceled.aborted;
    return {
      result,
      recordedWith: isRecorded ? run.destinationFingerprint : null,
      isUntouched: run.isUntouched(),
      last: run.ledger.leftToEnd,
      hasPartitions: setup.resource.forEach.length > 0,
      keepsLookups: setup.spec.lookups.length > 0 || setup.spec.resources.some(({ enrich }) => enrich.length > 0),
    };
  } catch (error) {
    maskError(error, (text) => redactor.values(text));
    if (!(error instanceof ThrottledError)) throw error;
    const { waitMs, otherwise, reason } = error;
    // Opening a run waits for memory for a receipt, or for a database.
    if (!otherwise && reason !== 'memory') throw error;
    if (Date.now() + waitMs >= endsAtMs) throw otherwise ?? nothingInTime(limits.maxDurationSeconds, reason);
    const totals = { pages: attempt.pageNo, records: attempt.recordsIn };
    const waitsFor = otherwise ? 'destination' : 'memory';
    return notRecorded({ done: false, limited: false, waitMs, waitsFor, ...totals });
  }
}

/** Makes the error retryable if the connection has new credentials by now, which the next attempt uses. */
async function unlessMended(
  { db, log }: Pick<Deps, 'db' | 'log'>,
  scope: OrgScope,
  { runId }: SyncRunInput,
  error: unknown,
): Promise<never> {
  if (!(error instanceof AppError) || !isRefusal(error.code) || !(await takeUpAccess(db, scope, runId))) throw error;
  log.info('the connection has other credentials by now; the run goes on with them', { code: error.code });
  throw toRetry(error);
}

const notRecorded = (result: ChunkResult): ReadOrPaused => ({ result, recordedWith: null, isUntouched: false });

const nothingToRead: ChunkResult = { ...nothingRead, done: true };
