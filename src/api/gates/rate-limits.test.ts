import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createRateLimits } from './rate-limits.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** How many of so many at once are let through. */
async function passed(count: (client: string) => Promise<void>, client: string, asked = 1000): Promise<number> {
  const results = await Promise.allSettled(Array.from({ length: asked }, () => count(client)));
  return results.filter(({ status }) => status === 'fulfilled').length;
}

describe('requests of a key', () => {
  it('have no limit unless there is one', () => {
    expect(createRateLimits(null)).toBeNull();
  });

  it('may come five times as many at once as in a second, once a minute', async () => {
    const limits = createRateLimits(100);
    if (!limits) throw new Error('There is a limit.');
    expect(await passed(limits.countRequest, 'key_a')).toBe(500);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await passed(limits.countRequest, 'key_a')).toBe(100);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await passed(limits.countRequest, 'key_a')).toBe(500);
  });

  it('are refused with the seconds to wait, others’ are not', async () => {
    const limits = createRateLimits(1);
    await passed(async (key) => limits?.countRequest(key), 'key_a', 5);
    await expect(limits?.countRequest('key_a')).rejects.toMatchObject({
      status: 429,
      code: 'rate_limited',
      headers: { 'retry-after': '1' },
    });
    await expect(limits?.countRequest('key_b')).resolves.toBeUndefined();
  });
});

describe('refused credentials of an address', () => {
  it('may come 300 at once and 20 in a second', async () => {
    const limits = createRateLimits(1);
    if (!limits) throw new Error('There is a limit.');
    expect(await passed(limits.countRefused, '192.0.2.1')).toBe(300);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await passed(limits.countRefused, '192.0.2.1')).toBe(20);
    expect(await passed(limits.countRefused, '192.0.2.2')).toBe(300);
  });
});
