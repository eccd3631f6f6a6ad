import { CancelledFailure } from '@temporalio/activity';
import { describe, expect, it } from 'vitest';
import { unlessCanceled } from './canceling.ts';

const canceled = new CancelledFailure('CANCELLED');

/** Work that ends only when its resources are disposed of. */
function workUntilDisposed() {
  const disposed = Promise.withResolvers<void>();
  const work = async (resources: AsyncDisposableStack): Promise<string> => {
    resources.defer(() => disposed.resolve());
    await disposed.promise;
    return 'ended';
  };
  return { disposed: disposed.promise, work };
}

describe('work under a cancel', () => {
  it('is left with its reason after the time of grace, and its resources are disposed of under its hands', async () => {
    const controller = new AbortController();
    const { disposed, work } = workUntilDisposed();
    const result = unlessCanceled(controller.signal, 10, work);
    controller.abort(canceled);
    await expect(result).rejects.toBe(canceled);
    await disposed;
  });

  it('is left in the same way when the cancel came before it began', async () => {
    const { disposed, work } = workUntilDisposed();
    await expect(unlessCanceled(AbortSignal.abort(canceled), 10, work)).rejects.toBe(canceled);
    await disposed;
  });

  it('that ends within the time of grace gives its result, after its resources', async () => {
    const controller = new AbortController();
    const order: string[] = [];
    const result = unlessCanceled(controller.signal, 60_000, async (resources) => {
      resources.defer(() => void order.push('disposed'));
      controller.abort(canceled);
      return 'result';
    });
    expect(await result).toBe('result');
    expect(order).toEqual(['disposed']);
  });

  it('does not begin with resources that nobody disposes of when it was left before', async () => {
    const controller = new AbortController();
    const opening = Promise.withResolvers<void>();
    const began = Promise.withResolvers<boolean>();
    const result = unlessCanceled(controller.signal, 10, async (resources) => {
      await opening.promise;
      began.resolve(!resources.disposed);
      resources.defer(() => undefined);
    });
    controller.abort(canceled);
    await expect(result).rejects.toBe(canceled);
    opening.resolve();
    expect(await began.promise).toBe(false);
  });
});

it('a shutdown of the worker leaves no work', async () => {
  const controller = new AbortController();
  const ending = Promise.withResolvers<string>();
  const result = unlessCanceled(controller.signal, 0, () => ending.promise);
  controller.abort(new CancelledFailure('WORKER_SHUTDOWN'));
  setTimeout(() => ending.resolve('ended'), 20);
  expect(await result).toBe('ended');
});
