import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { plants as ofSimulation } from '../simulation/plants.ts';
import { plants } from './plants.ts';

test.each([...plants, ...ofSimulation])('one place has the code of the planted bug: $name', ({ file, code, bug }) => {
  const source = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  expect(source.split(code)).toHaveLength(2);
  expect(bug).not.toBe(code);
});
