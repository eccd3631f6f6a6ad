/** The reading of a chunk: pages from the position of its run, each processed and delivered, until a boundary is reached. */

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
 * A chunk ends after so many pages, too: fairness between orgs applies when chunks are assigned. A thousand pages are
 * four seconds of a fast API; the next chunk begins within a tenth of a second.
 */
const chunkPagesMax = 1000;
/** Pages fetched while an earlier one is still being processed. */
const lookAheadPages = 3;
/** Pages in the pipeline at once: more than evaluators on most machines, few enough to be small. */
const pagesAtOnce = 4;
/** The milliseconds for which pages in flight may still arrive when the worker stops. */
const stopMsMax = 10_000;
/**
 * The milliseconds that a canceled chunk waits for the batch in progress, and for other work that ignores the cancel;
 * the next run records a batch that is applied later.
 */
export const cancelMsMax = 500;

/** What reading works with. */
export interface ReadDeps extends Pick<Deps, 'log'> {
  /** What watches the chunk: its movement, and what it reports. */
  readonly movement: Movement;
  readonly progress: Pick<ProgressReport, 'show'>;
}

/** How far a chunk reads, and what ends it before. */
interface ReadLimits {
  readonly limits: Resource['limits'];
  /** The time at which the run has to end, in milliseconds since the epoch. */
  readonly endsAtMs: number;
  /** A request waits for a rate limit. */
  readonly isRateLimited: () => boolean;
  readonly canceled: AbortSignal;
  readonly msMax: number;
}

/** Pages from where the run stands until the read, the chunk or the run's limits end. */
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
    // A pause of the destination is not one of the source: all pages may be read and yet wait for it.
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

/** The error of a run that had no time to wait longer. */
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
