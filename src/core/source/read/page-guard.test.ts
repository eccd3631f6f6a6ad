import { expect, test } from 'vitest';
import { type GuardState } from '../../model/read-position.ts';
import { createPageGuard, noPages, pageKey } from './page-guard.ts';

test('notices the first page that comes again', () => {
  const guard = createPageGuard(noPages);
  expect(['a', 'b', 'c', 'a'].map((token) => guard.repeats(pageKey(token)))).toEqual([false, false, false, true]);
});

test('a guard that is restored at every page still notices every loop', () => {
  for (const loopStart of [0, 1, 5, 37]) {
    for (const loopLength of [1, 2, 7, 40]) {
      const steps = stepsUntilNoticed(loopStart, loopLength);
      expect(steps).toBeGreaterThan(loopStart);
      expect(steps).toBeLessThanOrEqual(2 * (loopStart + 1) + 2 * loopLength);
    }
  }
});

test('a position stays small: 15 keys at page 10,000', () => {
  const guard = createPageGuard(noPages);
  for (let page = 0; page < 10_000; page += 1) guard.repeats(pageKey(page));
  expect(guard.state().count).toBe(10_000);
  expect(guard.state().marks).toHaveLength(15);
});

test('knows a page again whose record is nested without end', () => {
  const deep: unknown = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`);
  expect(pageKey([{ id: 1 }, deep])).toBe(pageKey([{ id: 1 }, deep]));
  expect(pageKey([{ id: 1 }, deep])).not.toBe(pageKey([{ id: 2 }, deep]));
});

/** Pages read when each page is read by another process, over tokens that run into a loop. */
function stepsUntilNoticed(loopStart: number, loopLength: number): number {
  let state: GuardState = noPages;
  for (let step = 0; step < 1000; step += 1) {
    const token = step < loopStart ? step : loopStart + ((step - loopStart) % loopLength);
    const guard = createPageGuard(JSON.parse(JSON.stringify(state)) as GuardState);
    if (guard.repeats(pageKey(token))) return step;
    state = guard.state();
  }
  return Number.POSITIVE_INFINITY;
}
