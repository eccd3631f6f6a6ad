import { CancelledFailure } from '@temporalio/activity';

/** Whether a chunk stops because its run must end, not because it continues elsewhere or later. */
export const isCancel = (reason: unknown): boolean =>
  reason instanceof CancelledFailure && (reason.message === 'CANCELLED' || reason.message === 'NOT_FOUND');

/**
 * Throws the reason of a signal that is aborted by anything but the stop of the worker: after that, work has simply ended
 * early.
 */
export function throwUnlessShutdown({ reason }: AbortSignal): void {
  if (reason instanceof CancelledFailure && reason.message !== 'WORKER_SHUTDOWN') throw reason;
}

/** Aborts some time after `signal`, which means that no more pages are requested. */
export function abortedAfter(signal: AbortSignal, msAfter: (reason: unknown) => number): AbortSignal {
  const hard = new AbortController();
  const abortLater = () => setTimeout(() => hard.abort(signal.reason), msAfter(signal.reason)).unref();
  if (signal.aborted) abortLater();
  else signal.addEventListener('abort', abortLater, { once: true });
  return hard.signal;
}

/**
 * Returns the result of `work` and disposes of its resources. Work that has not ended `graceMs` after a cancel is
 * abandoned: its resources are disposed of while it runs, which ends its waits, and the cancel reason is thrown at
 * once. A later attempt fences off what it may still do.
 */
export async function unlessCanceled<Result>(
  signal: AbortSignal,
  graceMs: number,
  work: (resources: AsyncDisposableStack) => Promise<Result>,
): Promise<Result> {
  const resources = new AsyncDisposableStack();
  const left = Promise.withResolvers<never>();
  const leave = () => {
    if (!isCancel(signal.reason)) return;
    timer = setTimeout(() => left.reject(signal.reason), graceMs);
  };
  let timer: NodeJS.Timeout | undefined;
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  const worked = workThenDispose(work, resources);
  try {
    return await Promise.race([worked, left.promise]);
  } finally {
    signal.removeEventListener('abort', leave);
    clearTimeout(timer);
    // Work that has ended leaves nothing behind. The result of abandoned work is ignored.
    worked.catch(() => undefined);
    resources.disposeAsync().catch(() => undefined);
  }
}

async function workThenDispose<Result>(
  work: (resources: AsyncDisposableStack) => Promise<Result>,
  resources: AsyncDisposableStack,
): Promise<Result> {
  await using _ = resources;
  return await work(resources);
}
