/**
 * The long activity of a run: many pages, read ahead, processed, delivered and recorded, until the read ends or a
 * boundary is reached. One activity per page would cost 10 to 50 ms each; inside a chunk a page costs only its own
 * work.
 *
 * Safe to run twice, at the same time even: taking the lane fences every earlier attempt off, at the destination and
 * in the control database. A crash before the destination commits loses pages in flight, which are fetched again; one
 * between the two commits is repaired from the receipt at the destination; one after both costs nothing
 * (test/crash/kill-points.test.ts, handover.test.ts for two at the same time).
 */

import { CancelledFailure, Context } from '@temporalio/activity';
import type { ApplicationFailure } from '@temporalio/common';
import { type Attempt, noteFailure, resetAttempts, takeLane } from '../db/queries/runs/attempts.ts';
import { type OrgScope, orgScope } from '../db/scope.ts';
import { AppError } from '../src/core/errors.ts';
import { ThrottledError } from '../src/core/http/client.ts';
import type { Resource } from '../src/core/spec/schema/spec-schema.ts';
import type { Deps } from '../src/deps.ts';
import type { SlotLending } from '../src/temporal/worker-slots.ts';
import type { ChunkProgress, ChunkResult, SyncRunInput } from '../workflows/contract.ts';
import { abortedAfter, isCancel, unlessCanceled } from './canceling.ts';
import { retriesExhausted, toFailure } from './failures.ts';
import { type Movement, watchMovement } from './movement.ts';
import { createNewLanes, type NewLanes } from './new-lanes.ts';
import { type OpenRun, openRun } from './open-run.ts';
import { type ProgressReport, reportProgress } from './progress.ts';
import { beginRun, endRun } from './run-lifecycle.ts';
import { loadSetup } from './run-setup.ts';

/**
 * A chunk ends after either: fairness between tenants applies when chunks are assigned. A thousand pages are four
 * seconds of a fast API; the next chunk takes a tenth of one to begin.
 */
const chunkMsMax = 60_000;
const chunkPagesMax = 1000;
/** Pages fetched while an earlier one is still being processed. */
const lookAheadPages = 3;
/** Pages in the pipeline at once: more than evaluators on most machines, few enough to be small. */
const pagesAtOnce = 4;
/** A cancel reaches the chunk with its next heartbeat, and four may be lost, ms. */
const heartbeatMs = 1000;
/** How long pages in flight may still arrive when the worker stops, ms. */
const stopMsMax = 10_000;
/**
 * How long a canceled chunk waits for the batch in progress, and for other work that ignores the cancel, ms; the next
 * run records a batch that is applied later.
 */
const cancelMsMax = 500;
/** Attempts without one recorded batch, after which the run fails: the progress-aware retry budget. */
const attemptsMax = 12;
/** The same for errors without a code, mostly bugs: with their delays they take 21 s. */
const unexpectedAttemptsMax = 8;

/** Creates the activity. */
export function createSyncChunk(made: Deps, slots: SlotLending) {
  const deps = { ...made, newLanes: createNewLanes(), slots };
  return {
    /**
     * Begins the run if it is its turn, continues reading at its position, and ends it once it is read. Throws what
     * cannot be retried; returns `waitMs` when the API asks to wait. Safe to run twice, as the head of this file says.
     */
    syncPages: (input: SyncRunInput): Promise<ChunkResult> => inContext(deps, input, runFromBeginToEnd),
  };
}

interface SharedDeps extends Deps {
  /** Of this process. */
  readonly newLanes: NewLanes;
  readonly slots: SlotLending;
}

interface ChunkDeps extends SharedDeps {
  /** Both of this chunk. */
  readonly movement: Movement;
  readonly progress: ProgressReport;
}

/** Runs a chunk with the heartbeat of its activity; throws errors in the form that a history may hold. */
async function inContext(
  deps: SharedDeps,
  input: SyncRunInput,
  run: (deps: ChunkDeps, input: SyncRunInput, context: Context) => Promise<ChunkResult>,
): Promise<ChunkResult> {
  const context = Context.current();
  const log = deps.log.child({ runId: input.runId, attempt: context.info.attempt });
  using movement = watchMovement(deps.slots);
  using progress = reportProgress(context);
  const beat = setInterval(() => {
    context.heartbeat();
    movement.check();
  }, heartbeatMs);
  try {
    return await run({ ...deps, log, movement, progress }, input, context);
  } catch (error) {
    if (error instanceof CancelledFailure) throw error;
    log.warn('chunk failed', { error });
    throw await keptFailure(deps, input, error);
  } finally {
    clearInterval(beat);
  }
}

async function runFromBeginToEnd(deps: ChunkDeps, input: SyncRunInput, context: Context): Promise<ChunkResult> {
  const turn = await beginRun(deps, input);
  if (turn === 'waiting') return { ...ended, done: false, waiting: true };
  const { result, owner } = await runChunk(deps, input, context);
  if (!result.done) return result;
  const outcome = { status: result.limited ? 'partial' : 'succeeded', error: null } as const;
  return { ...result, totals: await endRun(deps, input, { outcome, owner }) };
}

/** The failure as Temporal shows it, and the run row too if no attempt gets further. */
async function keptFailure(deps: Deps, { orgId, runId }: SyncRunInput, error: unknown): Promise<ApplicationFailure> {
  const failure = toFailure(error);
  const { type, message } = failure;
  if (failure.nonRetryable) return failure;
  try {
    await noteFailure(deps.db, orgScope(orgId), { runId, code: type ?? 'internal', message });
  } catch (cause) {
    deps.log.warn('cause of the failure not stored', { runId, error: cause });
  }
  return failure;
}

/** The result of a chunk, and its attempt; null: there was nothing to read. */
interface RunChunk {
  readonly result: ChunkResult;
  readonly owner: Attempt | null;
}

/** Runs a chunk; a canceled one ends soon, whatever the customer's systems do. */
function runChunk(deps: ChunkDeps, input: SyncRunInput, context: Context): Promise<RunChunk> {
  return unlessCanceled(context.cancellationSignal, cancelMsMax, (resources) =>
    readChunk(deps, input, { context, resources }),
  );
}

async function readChunk(
  deps: ChunkDeps,
  input: SyncRunInput,
  { context, resources }: { readonly context: Context; readonly resources: AsyncDisposableStack },
): Promise<RunChunk> {
  const { cancellationSignal: cancelled, info } = context;
  const scope = orgScope(input.orgId);
  const attempt = await takeLane(deps.db, scope, input.runId, info.currentAttemptScheduledTimestampMs);
  if (!attempt || attempt.cancelRequestedAt) return { result: ended, owner: attempt ?? null };
  // Recorded with a batch, so it stays valid whatever the result of the attempt that recorded it.
  if (attempt.errorCode === 'record_invalid') throw new AppError('record_invalid', attempt.errorMessage ?? '');
  const mostAttempts = attempt.errorCode === 'internal' ? unexpectedAttemptsMax : attemptsMax;
  if (attempt.attempts > mostAttempts) throw retriesExhausted(attempt);
  const result = await readOrPause(deps, scope, { runId: input.runId, attempt, cancelled, resources });
  if (result.done) deps.newLanes.leave(attempt.laneId);
  // A run that is read ends with this attempt.
  else await resetAttempts(deps.db, scope, input.runId);
  // After a shutdown the chunk has simply ended early; after a cancel it reports the cancel.
  if (cancelled.reason instanceof CancelledFailure && cancelled.reason.message !== 'WORKER_SHUTDOWN')
    throw cancelled.reason;
  return { result, owner: attempt };
}

interface Chunk {
  readonly runId: string;
  readonly attempt: Attempt;
  readonly cancelled: AbortSignal;
  readonly resources: AsyncDisposableStack;
}

/** Continues reading where the destination stands; if source or destination need a pause, the workflow's timer waits. */
async function readOrPause(deps: ChunkDeps, scope: OrgScope, chunk: Chunk): Promise<ChunkResult> {
  const { runId, attempt, resources } = chunk;
  const setup = await loadSetup(deps, scope, { runId, ...attempt });
  const startedAt = new Date(attempt.startedAt ?? Date.now());
  const { limits } = setup.resource;
  const endsAtMs = startedAt.getTime() + limits.maxDurationSeconds * 1000;
  try {
    let limitedUntilMs = 0;
    const onRateLimit = (waitMs: number) => {
      limitedUntilMs = Math.max(limitedUntilMs, Date.now() + waitMs);
    };
    const { newLanes } = deps;
    const run = await openRun(deps, scope, { ...chunk, setup, startedAt, newLanes, onRateLimit, resources });
    if (run.start.readCompleted) return { ...ended, pages: run.start.pageNo };
    const isRateLimited = () => Date.now() < limitedUntilMs;
    return await readOn(deps, run, { limits, endsAtMs, isRateLimited, cancelled: chunk.cancelled });
  } catch (error) {
    if (!(error instanceof ThrottledError) || !error.otherwise) throw error;
    const { waitMs, otherwise } = error;
    if (Date.now() + waitMs >= endsAtMs) throw otherwise;
    return { done: false, limited: false, waitMs, pages: attempt.pageNo, records: attempt.recordsIn };
  }
}

interface ReadLimits {
  readonly limits: Resource['limits'];
  /** When the run has to end, ms since the epoch. */
  readonly endsAtMs: number;
  /** A request waits for a rate limit. */
  readonly isRateLimited: () => boolean;
  readonly cancelled: AbortSignal;
}

/** Pages from where the run stands until the read, the chunk or the run's limits end. */
async function readOn(
  { movement, progress, log }: ChunkDeps,
  { start, engine, delivery }: OpenRun,
  { limits, endsAtMs, isRateLimited, cancelled }: ReadLimits,
): Promise<ChunkResult> {
  const chunkEnd = performance.now() + chunkMsMax;
  let { pageNo, records } = start;
  let requested = 0;
  let done = false;
  const limited = (waitMs = 0) =>
    records >= (limits.maxRecords ?? Number.POSITIVE_INFINITY) || Date.now() + waitMs >= endsAtMs;
  const result = (waitMs: number): ChunkResult => {
    // A wait that would outlast the run ends it now.
    const over = !done && limited(waitMs);
    if (over && pageNo === 0) throw nothingInTime(limits.maxDurationSeconds);
    return { done: done || delivery.stopped || over, limited: over, waitMs, pages: pageNo, records };
  };
  const waiting = () => (isRateLimited() ? 'rate_limit' : delivery.isUnderWay ? 'destination' : 'source');
  progress.show(progressOf(waiting, () => ({ pages: pageNo, records })));
  const isCanceled = () => isCancel(cancelled.reason);
  try {
    await engine.read({
      position: start.position,
      pageNo,
      sink: {
        async add(page) {
          pageNo = page.pageNo;
          done = page.positionAfter === null;
          await delivery.add(page);
          movement.moved();
        },
        drained: () => delivery.drained(),
      },
      signal: abortedAfter(cancelled, (reason) => (isCancel(reason) ? 0 : stopMsMax)),
      lookAhead: lookAheadPages,
      pagesAtOnce,
      enough: () =>
        cancelled.aborted ||
        delivery.stopped ||
        limited() ||
        ++requested > chunkPagesMax ||
        performance.now() > chunkEnd,
      onRead: (page) => {
        movement.moved();
        records += page.records.length;
        return !limited();
      },
      isCanceled,
      onNotes: (page, notes) => log.warn('the API deviates from the spec', { pageNo: page, notes }),
    });
  } catch (error) {
    if (isCanceled()) return result(0);
    // A pause of the destination is not one of the source: all pages may be read and yet wait for it.
    if (error instanceof ThrottledError && !error.otherwise) return result(error.waitMs);
    throw error;
  } finally {
    if (isCanceled()) await delivery.abandon(cancelMsMax);
  }
  return result(0);
}

/** A chunk that is rate limited, or whose totals are those of the last report, waits. */
function progressOf(
  waiting: () => Exclude<ChunkProgress['waitsFor'], null>,
  read: () => Pick<ChunkProgress, 'pages' | 'records'>,
): () => ChunkProgress {
  let last = read().pages;
  return () => {
    const { pages, records } = read();
    const waitsFor = waiting();
    const isStill = last === pages;
    last = pages;
    return { pages, records, waitsFor: isStill || waitsFor === 'rate_limit' ? waitsFor : null };
  };
}

const nothingInTime = (seconds: number) =>
  new AppError(
    'source_rejected',
    `The API returned no page within limits.maxDurationSeconds (${seconds} s); the calls of the run show its responses.`,
  );

/** There is nothing to read: the run has ended, or was asked to stop. */
const ended: ChunkResult = { done: true, limited: false, waitMs: 0, pages: 0, records: 0 };
