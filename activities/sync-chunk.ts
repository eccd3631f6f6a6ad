/**
 * The long activity of a run: many pages, read ahead, processed, delivered and recorded, until the read ends or a
 * boundary is reached. One activity per page would cost 10 to 50 ms each; inside a chunk a page costs only its own
 * work.
 *
 * Safe to run twice, at the same time even: taking the lane fences every earlier attempt off, at the destination and
 * in the control database. A crash before the destination commits loses pages in flight, which are fetched again; one
 * between the two commits is repaired from the receipt at the destination; one after both costs nothing.
 */

import { CancelledFailure, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { type Attempt, noteFailure, resetAttempts, takeLane } from '../db/queries/runs/attempts.ts';
import { orgScope } from '../db/scope.ts';
import { AppError } from '../src/core/errors.ts';
import { ThrottledError } from '../src/core/http/client.ts';
import type { Tombstone } from '../src/core/model/batch.ts';
import type { PageOutcome } from '../src/core/model/page-outcome.ts';
import { runStart } from '../src/core/model/run-position.ts';
import { readRun } from '../src/core/run/read-run.ts';
import type { Deps } from '../src/deps.ts';
import type { SlotLending } from '../src/temporal/worker-slots.ts';
import type { ChunkProgress, ChunkResult, SyncRunInput } from '../workflows/contract.ts';
import { abortedAfter, isCancel, unlessCanceled } from './canceling.ts';
import type { Delivery } from './delivery.ts';
import { toFailure } from './failures.ts';
import { type Movement, watchMovement } from './movement.ts';
import { createNewLanes, type NewLanes } from './new-lanes.ts';
import { type OpenRun, openRun, type RunStart } from './open-run.ts';
import { createOrderedQueue } from './ordered-queue.ts';
import { type ProgressReport, reportProgress } from './progress.ts';
import { repairFromCheckpoint, type StartPoint } from './repair.ts';
import { beginRun, endRun } from './run-lifecycle.ts';

/**
 * A chunk ends after either: fairness between tenants applies when chunks are assigned. A thousand pages are four
 * seconds of a fast API; the next chunk takes a tenth of one to begin.
 */
const chunkMsMax = 60_000;
const chunkPagesMax = 1000;
/** Pages fetched while an earlier one is still being processed. */
const lookAheadPages = 3;
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

/** Creates the activity, in its current form and in the form that old histories call. */
export function createSyncChunk(made: Deps, slots: SlotLending) {
  const deps = { ...made, newLanes: createNewLanes(), slots };
  return {
    /**
     * Begins the run if it is its turn, continues reading at its position, and ends it once it is read. Throws what
     * cannot be retried; returns `waitMs` when the API asks to wait.
     */
    syncPages: (input: SyncRunInput): Promise<ChunkResult> => inContext(deps, input, runFromBeginToEnd),

    /** Continues reading only. Called by old histories, in which chunks neither began nor ended their run. */
    syncChunk: (input: SyncRunInput): Promise<ChunkResult> =>
      inContext(deps, input, async (...chunk) => (await runChunk(...chunk)).result),
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
  const run = resources.use(await openRun(deps, scope, { runId: input.runId, attempt }));
  const result = await readOrPause(run, {
    attempt,
    cancelled,
    repair: () => repairFromCheckpoint(deps.db, scope, { ...run, attempt, runId: input.runId }),
    newLanes: deps.newLanes,
    movement: deps.movement,
    progress: deps.progress,
  });
  if (result.done) deps.newLanes.leave(attempt.laneId);
  // A run that is read ends with this attempt.
  else await resetAttempts(deps.db, scope, input.runId);
  // After a shutdown the chunk has simply ended early; after a cancel it reports the cancel.
  if (cancelled.reason instanceof CancelledFailure && cancelled.reason.message !== 'WORKER_SHUTDOWN')
    throw cancelled.reason;
  return { result, owner: attempt };
}

interface Reading {
  readonly attempt: Attempt;
  readonly cancelled: AbortSignal;
  readonly repair: () => Promise<StartPoint>;
  readonly newLanes: NewLanes;
  readonly movement: Movement;
  readonly progress: ProgressReport;
}

/** Continues reading where the destination stands; if the destination needs a pause, the workflow's timer waits. */
async function readOrPause(run: OpenRun, reading: Reading): Promise<ChunkResult> {
  const { attempt, repair, newLanes } = reading;
  try {
    const start = await repair();
    if (start.readCompleted) return { ...ended, pages: start.pageNo };
    return await readOn(run, { ...start, asked: newLanes.take(attempt, start.fresh) }, reading);
  } catch (error) {
    if (!(error instanceof ThrottledError) || !error.otherwise) throw error;
    const { waitMs, otherwise } = error;
    if (Date.now() + waitMs >= runEndOf(run)) throw otherwise;
    return { done: false, limited: false, waitMs, pages: attempt.pageNo, records: attempt.recordsIn };
  }
}

/** When the run has to end, ms since the epoch. */
const runEndOf = ({ startedAt, setup }: OpenRun): number =>
  startedAt.getTime() + setup.resource.limits.maxDurationSeconds * 1000;

/** Pages from `start` until the read, the chunk or the run's limits end. */
async function readOn(
  run: OpenRun,
  start: StartPoint & RunStart,
  { cancelled, movement, progress }: Pick<Reading, 'cancelled' | 'movement' | 'progress'>,
): Promise<ChunkResult> {
  const { limits } = run.setup.resource;
  const chunkEnd = performance.now() + chunkMsMax;
  const runEnd = runEndOf(run);
  const { delivery, load } = run.startFrom(start);
  const orderedQueue = createOrderedQueue(async (page, outcome) => {
    pageNo += 1;
    done = page.positionAfter === null;
    if (page.notes.length > 0) run.log.warn('the API deviates from the spec', { pageNo, notes: page.notes });
    const { records: _records, tombstones: _tombstones, notes: _notes, ...place } = page;
    await delivery.add({ ...place, ...outcome, pageNo });
    movement.moved();
  });
  let { pageNo, records } = start;
  let asked = 0;
  let done = false;
  const limited = (waitMs = 0) =>
    records >= (limits.maxRecords ?? Number.POSITIVE_INFINITY) || Date.now() + waitMs >= runEnd;
  const enough = () =>
    cancelled.aborted || delivery.stopped || limited() || ++asked > chunkPagesMax || performance.now() > chunkEnd;
  const result = (waitMs: number): ChunkResult => {
    // A wait that would outlast the run ends it now.
    const over = !done && limited(waitMs);
    if (over && pageNo === 0) throw nothingInTime(limits.maxDurationSeconds);
    return { done: done || delivery.stopped || over, limited: over, waitMs, pages: pageNo, records };
  };
  progress.show(progressOf(delivery, () => ({ pages: pageNo, records })));
  const drained = async () => {
    try {
      await orderedQueue.drained();
    } finally {
      await delivery.drained();
    }
  };
  const signal = abortedAfter(cancelled, (reason) => (isCancel(reason) ? 0 : stopMsMax));
  const options = { lookAhead: lookAheadPages, signal, enough, delivered: drained };
  try {
    const { reading, pipeline } = await load(signal);
    try {
      for await (const page of readRun(reading, start.position ?? runStart, options)) {
        movement.moved();
        records += page.records.length;
        const outcome = pipeline.select(page).then((selection) => pipeline.shape(selection));
        await orderedQueue.add(page, withTombstones(outcome, page.tombstones));
        // Pages fetched beyond the one that reaches the limit are dropped.
        if (limited()) break;
      }
    } finally {
      // Pages read before a failure are valid: they are delivered, so that the next attempt starts behind them.
      await (isCancel(cancelled.reason) ? delivery.abandon(cancelMsMax) : drained());
    }
  } catch (error) {
    if (isCancel(cancelled.reason)) return result(0);
    // A pause of the destination is not one of the source: all pages may be read and yet wait for it.
    if (error instanceof ThrottledError && !error.otherwise) return result(error.waitMs);
    throw error;
  }
  return result(0);
}

/** A chunk whose totals are those of the last report waits, for the destination if a batch is in progress there. */
function progressOf(delivery: Delivery, read: () => Pick<ChunkProgress, 'pages' | 'records'>): () => ChunkProgress {
  let last = read().pages;
  return () => {
    const { pages, records } = read();
    const isStill = last === pages;
    last = pages;
    const waitsFor = delivery.isUnderWay ? 'destination' : 'source';
    return { pages, records, waitsFor: isStill ? waitsFor : null };
  };
}

/** Adds the tombstones of deleted records to the outcome of a page. */
async function withTombstones(shaped: Promise<PageOutcome>, tombstones: readonly Tombstone[]): Promise<PageOutcome> {
  const page = await shaped;
  const missed = tombstones.map((tombstone) => ({ kind: 'delete', tombstone, flagged: false }) as const);
  return { ...page, outcomes: [...page.outcomes, ...missed] };
}

const nothingInTime = (seconds: number) =>
  new AppError(
    'source_rejected',
    `The API returned no page within limits.maxDurationSeconds (${seconds} s); the calls of the run show its responses.`,
  );

/** There is nothing to read: the run has ended, or was asked to stop. */
const ended: ChunkResult = { done: true, limited: false, waitMs: 0, pages: 0, records: 0 };

/** Ends a run without progress with the error of its last attempt; a worker that died leaves no error. */
function retriesExhausted({ attempts, errorCode, errorMessage }: Attempt): ApplicationFailure {
  const cause = errorMessage ?? 'The worker died on every attempt; see its log.';
  const message = `No progress after ${attempts - 1} attempts: ${cause} Fix the cause and start the sync again: it continues from the watermark.`;
  return ApplicationFailure.create({ type: errorCode ?? 'no_progress', message, nonRetryable: true });
}
