import { describe, expect, it } from 'vitest';
import { cronExpressions } from '../../../test/support/expressions/cron-expressions.ts';
import { firesAt } from './fires-at.ts';
import { nextFirings } from './next-firings.ts';

const at = (cron: string, timezone: string, time: string) => firesAt({ cron, timezone }, Date.parse(time));

describe('a schedule fires', () => {
  it.each(['UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'America/St_Johns'])(
    'at each of its firings in %s',
    (timezone) => {
      for (const cron of cronExpressions(100)) {
        for (const afterMs of ['2026-03-28T12:00:00Z', '2026-10-24T12:00:00Z'].map(Date.parse)) {
          for (const firing of nextFirings({ cron, timezone }, { afterMs, count: 3 })) {
            expect(at(cron, timezone, firing), `${cron} at ${firing}`).toBe(true);
          }
        }
      }
    },
  );

  it.each([
    ['0 0 1 1 *', 'UTC', '2026-06-01T12:30:00Z'],
    ['0 0 1 1 *', 'UTC', '2027-01-01T01:00:00Z'],
    ['0 0 1 1 *', 'UTC', '2027-01-01T00:00:01Z'],
    ['0 0 1 1 *', 'UTC', '2027-01-01T00:00:00.001Z'],
    ['30 6 * * 1-5', 'Europe/Berlin', '2026-01-03T05:30:00Z'],
    ['30 6 * * 1-5', 'Europe/Berlin', '2026-01-05T03:30:00Z'],
    ['0 0 15 * 1', 'UTC', '2026-01-13T00:00:00Z'],
    ['nonsense', 'UTC', '2026-01-01T00:00:00Z'],
    ['0 0 * * *', 'Nowhere/Land', '2026-01-01T00:00:00Z'],
  ])('at no other time: %s in %s at %s', (cron, timezone, time) => {
    expect(at(cron, timezone, time)).toBe(false);
  });

  it('an hour earlier or later where Temporal may have other rules of its zone', () => {
    const times = ['2026-01-05T04:30:00Z', '2026-01-05T05:30:00Z', '2026-01-05T06:30:00Z'];
    expect(times.map((time) => at('30 6 * * 1-5', 'Europe/Berlin', time))).toEqual([true, true, true]);
  });
});
