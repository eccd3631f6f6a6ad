import { expect, it } from 'vitest';
import { progressOf } from './progress.ts';

/** A chunk that says whom it would wait for, and how far it is. */
function chunk(waitsFor: Parameters<typeof progressOf>[0]) {
  const totals = { pages: 0, records: 0 };
  return { totals, report: progressOf(waitsFor, () => ({ ...totals })) };
}

it('a chunk that read a page since the last report waits for nobody', () => {
  const { totals, report } = chunk(() => 'source');
  totals.pages = 1;
  totals.records = 20;
  expect(report()).toEqual({ pages: 1, records: 20, waitsFor: null });
});

it('a chunk that read no page since the last report names whom it waits for, the first report included', () => {
  const { totals, report } = chunk(() => 'destination');
  expect(report().waitsFor).toBe('destination');
  totals.pages = 3;
  expect(report().waitsFor).toBeNull();
  expect(report().waitsFor).toBe('destination');
});

it('a chunk that is rate limited says so even while pages come', () => {
  const { totals, report } = chunk(() => 'rate_limit');
  totals.pages = 1;
  expect(report()).toEqual({ pages: 1, records: 0, waitsFor: 'rate_limit' });
});
