import { expect, it, vi } from 'vitest';
import type { PageOutcome } from '../model/page-outcome.ts';
import { createOrderedQueue } from './ordered-queue.ts';
import { type RunPage, stagePage } from './run-page.ts';

it('hands pages on in their order, whichever transform ends first', async () => {
  const { orderedQueue, delivered } = track();
  const [one, two] = [Promise.withResolvers<PageOutcome>(), Promise.withResolvers<PageOutcome>()];
  await orderedQueue.add(page(1), one.promise);
  await orderedQueue.add(page(2), two.promise);
  two.resolve(outcome);
  one.resolve(outcome);
  await orderedQueue.drained();
  expect(delivered).toEqual([1, 2]);
});

it('hands a page on as soon as it can be, whenever the next one comes', async () => {
  const { orderedQueue, delivered } = track();
  const one = Promise.withResolvers<PageOutcome>();
  await orderedQueue.add(page(1), one.promise);
  one.resolve(outcome);
  await vi.waitFor(() => expect(delivered).toEqual([1]));
});

it('lets nothing pass a page whose transform failed, however often it is drained', async () => {
  const { orderedQueue, delivered } = track();
  await orderedQueue.add(page(1), Promise.resolve(outcome));
  await orderedQueue.add(page(2), Promise.reject(new Error('bad record')));
  await orderedQueue.add(page(3), Promise.resolve(outcome));
  await expect(orderedQueue.drained()).rejects.toThrow('bad record');
  await expect(orderedQueue.drained()).rejects.toThrow('bad record');
  expect(delivered).toEqual([1]);
});

it('says that a delivery failed to whoever adds the next page, and delivers none behind it', async () => {
  const delivered: string[] = [];
  const orderedQueue = createOrderedQueue(4, async ({ requestKey }) => {
    delivered.push(requestKey);
    if (requestKey === '2') throw new Error('gone');
  });
  for (const no of [1, 2]) await orderedQueue.add(page(no), Promise.resolve(outcome));
  await expect(orderedQueue.drained()).rejects.toThrow('gone');
  await expect(orderedQueue.add(page(3), Promise.resolve(outcome))).rejects.toThrow('gone');
  await expect(orderedQueue.drained()).rejects.toThrow('gone');
  expect(delivered).toEqual(['1', '2']);
});

it('keeps few records in progress, however large the pages are', async () => {
  const { orderedQueue, delivered } = track();
  const large = { ...page(1), records: Array.from({ length: 100_000 }, () => null) };
  await orderedQueue.add(large, Promise.resolve(outcome));
  expect(delivered).toEqual([1]);
});

function track() {
  const delivered: number[] = [];
  const orderedQueue = createOrderedQueue(4, async ({ requestKey }) => void delivered.push(Number(requestKey)));
  return { orderedQueue, delivered };
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
  gaps: [],
  notes: {},
};

const page = (no: number): RunPage => stagePage(String(no), { positionAfter: null });
