import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { retriedWork } from './retried-work.ts';

beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
});

afterEach(() => {
  vi.restoreAllMocks();
});

it('work that lost is repeated until it succeeds, each attempt under its own number', async () => {
  const attempts: number[] = [];
  const work = failing(2);
  const result = await retriedWork(work, (_error, attempt) => {
    attempts.push(attempt);
    return attempt === 1 ? 'at_once' : 'after_pause';
  });
  expect(result).toBe('done');
  expect(attempts).toEqual([1, 2]);
});

it('work that may not be repeated ends with the error of its last attempt', async () => {
  const repeated = retriedWork(failing(3), (_error, attempt) => (attempt < 2 ? 'after_pause' : 'never'));
  await expect(repeated).rejects.toThrow('failure 2');
});

it('only a repetition after a pause waits, at random, so that two losers do not meet again', async () => {
  await retriedWork(failing(1), () => 'at_once');
  expect(Math.random).not.toHaveBeenCalled();
  await retriedWork(failing(1), () => 'after_pause');
  expect(Math.random).toHaveBeenCalledTimes(1);
});

/** Work that fails so many times. */
function failing(times: number) {
  let made = 0;
  return async () => {
    made += 1;
    if (made <= times) throw new Error(`failure ${made}`);
    return 'done';
  };
}
