import { expect, it, vi } from 'vitest';
import type { PageOutcome } from '../src/core/model/page-outcome.ts';
import { type RunPage, stagePage } from '../src/core/run/run-page.ts';
import { createShaping } from './shaping.ts';

it('hands pages on in their order, whichever transform ends first', async () => {
  const { shaping, delivered } = track();
  const [one, two] = [Promise.withResolvers<PageOutcome>(), Promise.withResolvers<PageOutcome>()];
  await shaping.add(page(1), one.promise);
  await shaping.add(page(2), two.promise);
  two.resolve(outcome);
  one.resolve(outcome);
  await shaping.drained();
  expect(delivered).toEqual([1, 2]);
});

it('hands a page on as soon as it can be, whenever the next one comes', async () => {
  const { shaping, delivered } = track();
  const one = Promise.withResolvers<PageOutcome>();
  await shaping.add(page(1), one.promise);
  one.resolve(outcome);
  await vi.waitFor(() => expect(delivered).toEqual([1]));
});

it('lets nothing pass a page whose transform failed, however often it is drained', async () => {
  const { shaping, delivered } = track();
  await shaping.add(page(1), Promise.resolve(outcome));
  await shaping.add(page(2), Promise.reject(new Error('bad record')));
  await shaping.add(page(3), Promise.resolve(outcome));
  await expect(shaping.drained()).rejects.toThrow('bad record');
  await expect(shaping.drained()).rejects.toThrow('bad record');
  expect(delivered).toEqual([1]);
});

it('says that a delivery failed to whoever adds the next page, and delivers none behind it', async () => {
  const delivered: string[] = [];
  const shaping = createShaping(async ({ requestKey }) => {
    delivered.push(requestKey);
    if (requestKey === '2') throw new Error('gone');
  });
  for (const no of [1, 2]) await shaping.add(page(no), Promise.resolve(outcome));
  await expect(shaping.drained()).rejects.toThrow('gone');
  await expect(shaping.add(page(3), Promise.resolve(outcome))).rejects.toThrow('gone');
  await expect(shaping.drained()).rejects.toThrow('gone');
  expect(delivered).toEqual(['1', '2']);
});

it('keeps few records under way however large the pages are', async () => {
  const { shaping, delivered } = track();
  const large = { ...page(1), records: Array.from({ length: 100_000 }, () => null) };
  await shaping.add(large, Promise.resolve(outcome));
  expect(delivered).toEqual([1]);
});

function track() {
  const delivered: number[] = [];
  const shaping = createShaping(async ({ requestKey }) => void delivered.push(Number(requestKey)));
  return { shaping, delivered };
}

const outcome: PageOutcome = {
  recordsIn: 0,
  skipped: 0,
  carried: 0,
  invalid: 0,
  outcomes: [],
  allNew: false,
  each: {},
  seen: [],
};

const page = (no: number): RunPage => stagePage(String(no), { positionAfter: null });
