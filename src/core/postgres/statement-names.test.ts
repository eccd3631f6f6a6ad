import { expect, it } from 'vitest';
import { createStatementNames } from './statement-names.ts';

it('names a statement from its third use on, though thousands of others come in between', () => {
  const nameOf = createStatementNames({ usesMin: 3, namesMax: 10 });
  let others = 0;
  const useOthers = () => {
    for (let count = 0; count < 1500; count += 1) nameOf(`select ${(others += 1)}`);
  };
  expect(nameOf('select now()')).toBeUndefined();
  useOthers();
  expect(nameOf('select now()')).toBeUndefined();
  useOthers();
  expect(nameOf('select now()')).toMatch(/^css_[0-9a-f]{24}$/);
});

it('gives no more names than it may', () => {
  const nameOf = createStatementNames({ usesMin: 1, namesMax: 2 });
  expect(['a', 'b', 'c', 'a'].map((text) => nameOf(text) !== undefined)).toEqual([true, true, false, true]);
});
