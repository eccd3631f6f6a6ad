import { expect, test } from 'vitest';
import { mapWithPauses } from './pauses.ts';

const busy = (ms: number): void => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

test('gives what map gives, in order', async () => {
  const items = Array.from({ length: 10_000 }, (_, index) => index);
  expect(await mapWithPauses(items, (item) => item * 2)).toEqual(items.map((item) => item * 2));
  expect(await mapWithPauses([], busy)).toEqual([]);
});

test('lets other work have its turn during a long loop', async () => {
  let turns = 0;
  let done = false;
  const turn = (): void => {
    turns += 1;
    if (!done) setImmediate(turn);
  };
  setImmediate(turn);
  await mapWithPauses(Array.from({ length: 60 }), () => busy(1));
  done = true;
  expect(turns).toBeGreaterThanOrEqual(3);
});

test('throws what map throws', async () => {
  const failing = mapWithPauses([1, 2], (item) => {
    if (item === 2) throw new Error('two');
  });
  await expect(failing).rejects.toThrow('two');
});
