import { expect, it } from 'vitest';
import { createSeenIdFilter } from './seen-id-filter.ts';

const forms: readonly [string, (n: number) => string][] = [
  ['numbers', String],
  ['numbers behind a prefix', (n) => `cus_${String(n).padStart(8, '0')}`],
  ['numbers before a suffix', (n) => `${n}/item/2026`],
  ['texts beyond ASCII', (n) => `Zürich–${n}`],
  ['hashes', (n) => Math.imul(n + 1, 0x9e_37_79_b9).toString(16)],
];

it.each(forms)('never forgets %s, and takes few for known that are not', (_form, idOf) => {
  const asked = createSeenIdFilter();
  let taken = 0;
  for (let n = 0; n < 300_000; n += 1) if (asked.note(idOf(n))) taken += 1;
  // 3 of 16 million bits for each: by the end one new id in 7,000.
  expect(taken).toBeLessThan(60);
  let forgotten = 0;
  for (let n = 0; n < 300_000; n += 1) if (!asked.note(idOf(n))) forgotten += 1;
  expect(forgotten).toBe(0);
});

it('knows nothing at first', () => {
  const asked = createSeenIdFilter();
  expect([asked.note(''), asked.note('a'), asked.note('a'), asked.note('')]).toEqual([false, false, true, true]);
});
