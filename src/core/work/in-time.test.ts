import { expect, onTestFinished, test, vi } from 'vitest';
import { inTime } from './in-time.ts';

const late = new Error('late');

test('gives the result of work that is in time, and throws its failure', async () => {
  expect(await inTime(Promise.resolve(7), { ms: 60_000, late })).toBe(7);
  await expect(inTime(Promise.reject(new Error('failed')), { ms: 60_000, late })).rejects.toThrow('failed');
});

test('throws when the time is over, and ignores what late work throws', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const work = Promise.withResolvers<number>();
  const failure = inTime(work.promise, { ms: 1000, late }).catch((error: unknown) => error);
  vi.advanceTimersByTime(1000);
  expect(await failure).toBe(late);
  work.reject(new Error('failed later'));
});
