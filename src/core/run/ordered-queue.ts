import type { PageOutcome } from '../model/page-outcome.ts';
import type { RunPage } from './run-page.ts';

/** Maximum records in progress, so that memory does not grow with the page size. */
const recordsMax = 5000;

/** Pages in progress between the read and the delivery, passed on in order as soon as possible. */
export interface OrderedQueue {
  /** Takes a page that the pipeline has begun; waits while the queue is full, and throws the error of an earlier page. */
  add(page: RunPage, outcome: Promise<PageOutcome>): Promise<void>;
  /** Passes on all remaining pages up to the first that failed, and throws its error. */
  drained(): Promise<void>;
}

/** A queue of at most `pagesMax` pages in front of `deliver`. */
export function createOrderedQueue(
  pagesMax: number,
  deliver: (page: RunPage, outcome: PageOutcome) => Promise<void>,
): OrderedQueue {
  const inProgress: { readonly page: RunPage; readonly outcome: Promise<PageOutcome> }[] = [];
  // A failed promise stays: no page after a failed one may ever be passed on.
  let handing: Promise<void> | null = null;
  let failed = false;
  let moved = Promise.withResolvers<void>();
  const isFull = () =>
    inProgress.length >= pagesMax || inProgress.reduce((sum, { page }) => sum + page.records.length, 0) >= recordsMax;
  const handOnAll = async () => {
    for (let next = inProgress[0]; next; next = inProgress[0]) {
      const outcome = await next.outcome;
      inProgress.shift();
      await deliver(next.page, outcome);
      moved.resolve();
      moved = Promise.withResolvers();
    }
    handing = null;
  };
  const handOn = (): Promise<void> => {
    if (handing === null && inProgress.length > 0) {
      handing = handOnAll();
      // The next caller that awaits it gets the failure; until then it must not count as unhandled.
      handing.catch(() => {
        failed = true;
      });
    }
    return handing ?? Promise.resolve();
  };
  return {
    async add(page, outcome) {
      outcome.catch(() => undefined);
      inProgress.push({ page, outcome });
      const end = handOn();
      if (failed) await end;
      while (isFull()) await Promise.race([end, moved.promise]);
    },
    drained: handOn,
  };
}
