import { AppError } from '../src/core/errors.ts';
import { ThrottledError, type ThrottleReason } from '../src/core/model/throttled.ts';
import { DestinationMovedError } from '../src/core/run/lazy-destination.ts';
import type { Resource } from '../src/core/spec/schema/spec-schema.ts';
import type { Deps } from '../src/deps.ts';
import type { ChunkResult } from '../workflows/contract.ts';
import { abortedAfter, isCancel } from './canceling.ts';
import type { Movement } from './movement.ts';
import type { OpenRun } from './open-run.ts';
import { type ProgressReport, progressOf } from './progress.ts';

/**
 * Fairness between orgs applies when chunks are assigned, so they end by pages too. A thousand pages are four seconds of a
 * fast API; the next chunk begins within a tenth of a second.
 */
const chunkPagesMax = 1000;
const lookAheadPages = 3;
/** More pages than evaluators on most machines, few enough to be small. */
const pagesAtOnce = 4;
/** Milliseconds for which pages in flight may still arrive when the worker stops. */
const stopMsMax = 10_000;
/**
 * Milliseconds that a canceled chunk waits for its batch, and for other work that ignores the cancel; the next run records a
 * batch applied later.
 */
export const cancelMsMax = 500;

export interface ReadDeps extends Pick<Deps, 'log'> {
  readonly movement: Movement;
  readonly progress: Pick<ProgressReport, 'show'>;
}

interface ReadLimits {
  readonly limits: Resource['limits'];
  /** The deadline of the run, in milliseconds since the epoch. */
  readonly endsAtMs: number;
  readonly isRateLimited: () => boolean;
  readonly canceled: AbortSignal;
  readonly msMax: number;
}

export async function readOn(
  { movement, progress, log }: ReadDeps,
  { start, engine, delivery }: Pick<OpenRun, 'start' | 'engine' | 'delivery'>,
  { limits, endsAtMs, isRateLimited, canceled, msMax }: ReadLimits,
): Promise<ChunkResult> {
  const chunkEnd = performance.now() + msMax;
  let { pageNo, records } = start;
  let requested = 0;
  let done = false;
  const limited = (waitMs = 0) =>
    records >= (limits.maxRecords ?? Number.POSITIVE_INFINITY) || Date.now() + waitMs >= endsAtMs;
  const result = (waitMs: number, reason?: ThrottleReason): ChunkResult => {
    // A wait that would outlast the run ends it now.
    const over = !done && limited(waitMs);
    if (over && pageNo === 0) throw nothingInTime(limits.maxDurationSeconds, reason);
    return { done: done || delivery.stopped || over, limited: over, waitMs, pages: pageNo, records };
  };
  const waiting = () => (isRateLimited() ? 'rate_limit' : delivery.isInProgress ? 'destination' : 'source');
  progress.show(progressOf(waiting, () => ({ pages: pageNo, records })));
  const isCanceled = () => isCancel(canceled.reason);
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
      signal: abortedAfter(canceled, (reason) => (isCancel(reason) ? 0 : stopMsMax)),
      lookAhead: lookAheadPages,
      pagesAtOnce,
      enough: () => {
        requested += 1;
        return (
          canceled.aborted || delivery.stopped || limited() || requested > chunkPagesMax || performance.now() > chunkEnd
        );
      },
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
    // The next chunk reads the checkpoint of the destination before it reads a page.
    if (error instanceof DestinationMovedError) return { ...result(0), done: false };
    // Only pauses of the source end a read here: all pages may be read and yet wait for the destination.
    if (error instanceof ThrottledError && !error.otherwise) {
      const { waitMs, reason } = error;
      return { ...result(waitMs, reason), ...(reason === 'report' || reason === 'memory' ? { waitsFor: reason } : {}) };
    }
    throw error;
  } finally {
    if (isCanceled()) await delivery.abandon(cancelMsMax);
  }
  return result(0);
}

export const nothingInTime = (seconds: number, reason?: ThrottleReason) =>
  reason === 'memory'
    ? new AppError(
        'source_unavailable',
        `Other large responses took the memory of the worker for limits.maxDurationSeconds (${seconds} s). Start the run again later, or ask for smaller pages.`,
      )
    : new AppError(
        'source_rejected',
        `The API returned no page within limits.maxDurationSeconds (${seconds} s); the calls of the run show its responses.`,
      );
