import { expect, test } from 'vitest';
import { canonicalJson } from './canonical-json.ts';

/** From 0 up to but not including `below`, the same in every run. */
function createDice(): (below: number) => number {
  let state = 1;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

test('has names in the order of their UTF-16 units, however many there are', () => {
  const dice = createDice();
  const names = ['a', 'B', 'aa', 'Z', 'é', '😀', '\uffff', 'z', '', ' ', '_', 'a.b'];
  for (let count = 0; count < 100; count += 1) {
    const keys = Array.from({ length: count }, () => `${names[dice(names.length)]}${dice(1000)}x`);
    const record = Object.fromEntries(keys.map((key) => [key, key]));
    const sorted = Object.fromEntries([...new Set(keys)].sort().map((key) => [key, key]));
    expect(canonicalJson(record)).toBe(JSON.stringify(sorted));
  }
});
