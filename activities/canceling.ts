import { CancelledFailure } from '@temporalio/activity';

/** True if a chunk stops because its run must end, not because it continues elsewhere or later. */
export const isCancel = (reason: unknown): boolean =>
  reason instanceof CancelledFailure && (reason.message === 'CANCELLED' || reason.message === 'NOT_FOUND');

/** Throws the abort reason, except for a shutdown of the worker: work then has simply ended early. */
export function throwUnlessShutdown({ reason }: AbortSignal): void {
  if (reason instanceof CancelledFailure && reason.message !== 'WORKER_SHUTDOWN') throw reason;
}

/** Aborts some time after `signal`, at which no more pages are requested. */
export function abortedAfter(signal: AbortSignal, msAfter: (reason: unknown) => number): AbortSignal {
  const hard = new AbortController();
  const abortLater = () => setTimeout(() => hard.abort(signal.reason), msAfter(signal.reason)).unref();
  if (signal.aborted) abortLater();
  else signal.addEventListener('abort', abortLater, { once: true });
  return hard.signal;
}

/**
 * Abandons work that still runs `graceMs` after a cancel: disposes of its resources, which ends its waits, and throws the
 * cancel reason at once. A later attempt fences off its remaining effects.
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
