import { describe, expect, it } from 'vitest';
import { backoffMs, retryAfterMs } from './retry.ts';

describe('the backoff', () => {
  const policy = { maxAttempts: 6, baseMs: 500, maxMs: 60_000, maxWaitSeconds: 3_600 };
  const longest = (attempt: number) => backoffMs(policy, attempt, () => 1);

  it('doubles its window from baseMs up to maxMs', () => {
    expect([1, 2, 3, 4].map(longest)).toEqual([500, 1_000, 2_000, 4_000]);
    expect([8, 20, 2_000].map(longest)).toEqual([60_000, 60_000, 60_000]);
  });

  it('takes any point of the window, from zero', () => {
    expect([0, 0.25, 0.999].map((point) => backoffMs(policy, 3, () => point))).toEqual([0, 500, 1_998]);
  });
});

describe('Retry-After', () => {
  const now = Date.UTC(2026, 0, 1, 12, 0, 0);

  it.each([
    ['120', 120_000],
    [' 0 ', 0],
    ['1.5', 1_500],
    ['Thu, 01 Jan 2026 12:00:30 GMT', 30_000],
    ['Thursday, 01-Jan-26 12:00:30 GMT', 30_000],
    ['Thu Jan  1 12:00:30 2026', 30_000],
    ['Thu, 01 Jan 2026 11:00:00 GMT', 0],
  ])('of "%s" is %i ms', (header, ms) => expect(retryAfterMs(header, now)).toBe(ms));

  it.each([undefined, '', 'soon', '-5', '1 2', 'Thu, nonsense', '2026-01-01T12:00:30Z'])(
    'of "%s" is nothing',
    (header) => expect(retryAfterMs(header, now)).toBeNull(),
  );
});
