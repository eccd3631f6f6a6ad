import { expect, it } from 'vitest';
import { createMemoryBuckets } from './memory-buckets.ts';

it('buckets in memory let a burst go at once, then one request per step, and wait as the API asks', async () => {
  let now = 1_000_000;
  const buckets = createMemoryBuckets(() => now);
  const rate = { connectionId: 'local', name: 'http', requests: 2, perSeconds: 1, burst: 3 };
  const waits: number[] = [];
  for (let count = 0; count < 5; count += 1) waits.push(await buckets.take(rate, 10_000));
  expect(waits).toEqual([0, 0, 0, 500, 1000]);
  expect(await buckets.take(rate, 1000)).toBe(1500);
  expect(await buckets.take(rate, 1500)).toBe(1500);
  now += 10_000;
  expect(await buckets.take(rate, 0)).toBe(0);
  await buckets.empty(rate, 5000);
  expect(await buckets.take(rate, 10_000)).toBe(5000);
  expect(await buckets.take(rate, 10_000)).toBe(5500);
  expect(await buckets.take({ ...rate, name: 'other' }, 0)).toBe(0);
});
