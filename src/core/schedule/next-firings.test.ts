import { describe, expect, it } from 'vitest';
import { nextFirings } from './next-firings.ts';

const next = (cron: string, timezone: string, after: string, count = 3) =>
  nextFirings({ cron, timezone }, { afterMs: Date.parse(after), count });

describe('the next firings of a schedule', () => {
  it('are in the zone of the schedule', () => {
    expect(next('30 6 * * 1-5', 'Europe/Berlin', '2026-01-02T12:00:00Z')).toEqual([
      '2026-01-05T05:30:00.000Z',
      '2026-01-06T05:30:00.000Z',
      '2026-01-07T05:30:00.000Z',
    ]);
  });

  it('lie behind the given time', () => {
    expect(next('*/15 * * * *', 'UTC', '2026-01-01T00:15:00Z', 1)).toEqual(['2026-01-01T00:30:00.000Z']);
    expect(next('* * * * * *', 'UTC', '2026-01-01T00:00:00.500Z', 2)).toEqual([
      '2026-01-01T00:00:01.000Z',
      '2026-01-01T00:00:02.000Z',
    ]);
  });

  it('leave out an hour that the zone skips', () => {
    expect(next('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 1)).toEqual(['2026-03-30T00:30:00.000Z']);
  });

  it('are twice in an hour that the zone repeats', () => {
    expect(next('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T00:30:00.000Z',
      '2026-10-25T01:30:00.000Z',
    ]);
    expect(next('0 * * * *', 'Europe/Berlin', '2026-10-25T00:30:00Z', 2)).toEqual([
      '2026-10-25T01:00:00.000Z',
      '2026-10-25T02:00:00.000Z',
    ]);
  });

  it('are on either day where both day fields are restricted', () => {
    expect(next('0 0 15 * 1', 'UTC', '2026-01-10T00:00:00Z')).toEqual([
      '2026-01-12T00:00:00.000Z',
      '2026-01-15T00:00:00.000Z',
      '2026-01-19T00:00:00.000Z',
    ]);
  });

  it('are found years ahead', () => {
    expect(next('0 0 29 2 *', 'UTC', '2026-01-01T00:00:00Z', 1)).toEqual(['2028-02-29T00:00:00.000Z']);
  });

  it('are none of an expression that is not valid', () => {
    expect(next('nonsense', 'UTC', '2026-01-01T00:00:00Z')).toEqual([]);
    expect(next('0 0 * * *', 'Nowhere/Land', '2026-01-01T00:00:00Z')).toEqual([]);
  });
});
