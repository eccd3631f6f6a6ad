import { expect, test, vi } from 'vitest';
import { mapWithPauses, partsOf, sortWithPauses } from './map-with-pauses.ts';
import { countingTurns } from './turns-fixture.ts';

const busy = (ms: number): void => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

test('gives what map gives, in order', async () => {
  const items = Array.from({ length: 10_000 }, (_, index) => index);
  expect(await mapWithPauses(items, (item) => item * 2)).toEqual(items.map((item) => item * 2));
  expect(await mapWithPauses([], busy)).toEqual([]);
});

test.each([0, 1, 1000, 1001, 10_500])(
  'sorts %d items as toSorted does, and keeps the order of equal ones',
  async (count) => {
    const items = Array.from({ length: count }, (_, index) => ({ index, key: (index * 7919) % 977 }));
    const byKey = (one: { readonly key: number }, other: { readonly key: number }) => one.key - other.key;
    expect(await sortWithPauses(items, byKey)).toEqual(items.toSorted(byKey));
    expect(partsOf(items).flat()).toEqual(items);
  },
);

test('lets other work have its turn during a long loop', async () => {
  const { turns } = await countingTurns(async () => ({
    items: await mapWithPauses(Array.from({ length: 60 }), () => busy(1)),
  }));
  expect(turns).toBeGreaterThanOrEqual(3);
});

test('pauses between a few slow items as well', async () => {
  let turns = 0;
  using clock = vi.spyOn(performance, 'now');
  let now = 0;
  clock.mockImplementation(() => now);
  const slow = (): number => {
    now += 100;
    setImmediate(() => {
      turns += 1;
    });
    return turns;
  };
  expect(await mapWithPauses(Array.from({ length: 7 }), slow)).toEqual([0, 1, 2, 3, 4, 5, 6]);
});

test('throws what map throws', async () => {
  const failing = mapWithPauses([1, 2], (item) => {
    if (item === 2) throw new Error('two');
  });
  await expect(failing).rejects.toThrow('two');
});
