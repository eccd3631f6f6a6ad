import { expect, it } from 'vitest';
import { nextVersion } from './spec-names.ts';

it.each([
  [['1.0.0'], '1.1.0'],
  [['1.9.0', '1.10.3', '1.2.0'], '1.11.0'],
  [['2.0.0-beta.1', '1.4.0'], '2.0.0'],
])('the version after %s is %s', (versions, next) => {
  expect(nextVersion(versions)).toBe(next);
});
