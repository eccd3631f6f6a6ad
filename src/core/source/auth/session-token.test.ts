import { expect, test } from 'vitest';
import { instantOf } from './session-token.ts';

const nowMs = Date.UTC(2026, 0, 1);

test.each([
  [3600, nowMs + 3_600_000],
  ['3600', nowMs + 3_600_000],
  [1_800_000_000, 1_800_000_000_000],
  [1_800_000_000_000, 1_800_000_000_000],
  ['2026-01-02T00:00:00Z', Date.UTC(2026, 0, 2)],
  ['soon', null],
  [null, null],
  [0, null],
])('a session that ends at %j does so at %j', (value, instant) => {
  expect(instantOf(value, nowMs)).toBe(instant);
});
