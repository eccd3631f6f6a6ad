import jsonata from 'jsonata';
import { expect, it } from 'vitest';
import { compile } from './compile.ts';

/** Numbers at and around halves, with few and many digits, large and small. */
function* numbers(): Generator<number> {
  for (let n = 0; n < 200; n += 1) {
    for (const places of [0, 1, 2, 3, 5]) {
      const half = Number(`${n * 7 + 0.5}e-${places}`);
      yield* [half, -half, half + Number.EPSILON * half, half - Number.EPSILON * half, Number(`${n}e-${places}`)];
    }
    yield* [
      Math.sin(n) * 1e6,
      Math.cos(n) * 1e-6,
      Math.tan(n),
      n * 1.005,
      1e21 / (n + 1),
      2 ** 40 + n / 7,
      2 ** 52 + n,
    ];
  }
  yield* [1.005, 2.675, 1.115, 8.345, 0.1 + 0.2, 5e-324, 1e280, -1e-7, 0.5, 1.5, 2.5, -0.4];
}

it.each([0, 1, 2, 3, 6, 10, 11, -1, -2])('$round(number, %d) rounds as jsonata does', async (precision) => {
  const expression = compile(`$round(n, ${precision})`);
  const reference = jsonata(`$round(n, ${precision})`);
  const differing: unknown[] = [];
  let count = 0;
  for (const n of numbers()) {
    count += 1;
    const own = expression?.evaluate({ n }, { bound: [], nowMs: 0 });
    const theirs: unknown = await reference.evaluate({ n });
    if (own !== theirs) differing.push({ n, own, theirs });
  }
  expect(count).toBeGreaterThan(6000);
  expect(differing).toEqual([]);
});
