import { describe, expect, it } from 'vitest';
import { type EndpointHealth, healthAfter } from './endpoint-health.ts';

const well: EndpointHealth = { consecutiveFailures: 0, probing: false, sendWindow: null, failingMs: null };
const down: EndpointHealth = { consecutiveFailures: 5, probing: true, sendWindow: null, failingMs: 40_000 };
const limits = { maxInFlight: 8, retryWindowMs: 100_000 };

const sent = { delivered: true, probe: false };
const failed = { delivered: false, probe: false };
const probeSent = { delivered: true, probe: true };
const probeFailed = { delivered: false, probe: true };
const times = <Value>(count: number, value: Value): Value[] => Array.from({ length: count }, () => value);

describe('an endpoint', () => {
  it('that fails four times in a row is sent to as before', () => {
    const change = healthAfter(well, times(4, failed), limits);
    expect(change).toMatchObject({ consecutiveFailures: 4, probing: false, probeInMs: null, failingMs: 0 });
  });

  it('that fails five times in a row is probed, first after 5 s', () => {
    expect(healthAfter(well, times(5, failed), limits)).toMatchObject({ probing: true, probeInMs: 5000 });
    const four = healthAfter(well, times(4, failed), limits);
    expect(healthAfter(four, [failed], limits)).toMatchObject({ probing: true, probeInMs: 5000 });
  });

  it('that succeeds in between begins to be counted anew', () => {
    const change = healthAfter(well, [...times(4, failed), sent, ...times(4, failed)], limits);
    expect(change).toMatchObject({ consecutiveFailures: 4, probing: false, succeeded: true, recovered: false });
  });

  it('is probed after 30 s, then each minute; a request that was in progress at the failure does not count as a probe', () => {
    const first = healthAfter(well, times(64, failed), limits);
    expect(first.probeInMs).toBe(5000);
    const second = healthAfter({ ...first, failingMs: 6000 }, [failed, probeFailed], limits);
    expect(second.probeInMs).toBe(30_000);
    const third = healthAfter({ ...second, failingMs: 40_000 }, [probeFailed], limits);
    expect(third.probeInMs).toBe(60_000);
    expect(healthAfter({ ...third, failingMs: 99_000 }, [probeFailed], limits).probeInMs).toBe(60_000);
  });

  it('becomes healthy when it responds to a probe: all waiting events are due, at first one request at a time', () => {
    const change = healthAfter(down, [probeSent], limits);
    expect(change).toMatchObject({ recovered: true, probing: false, sendWindow: 1, failingMs: null, probeInMs: null });
  });

  it('that is back gets twice as many at once with each round, up to what it takes', () => {
    let health: EndpointHealth = healthAfter(down, [probeSent], limits);
    const windows: (number | null)[] = [];
    while (health.sendWindow !== null) {
      windows.push(health.sendWindow);
      health = healthAfter(health, times(health.sendWindow, sent), limits);
    }
    expect(windows).toEqual([1, 2, 4]);
  });

  it('that fails while it comes back begins at one again', () => {
    const health = { ...well, sendWindow: 6 };
    expect(healthAfter(health, [sent, failed], limits)).toMatchObject({ sendWindow: 1, probing: false });
  });

  it('that fails for as long as an event is tried is given up, and not before, and only while it is probed', () => {
    expect(healthAfter({ ...down, failingMs: 99_999 }, [probeFailed], limits).exhausted).toBe(false);
    expect(healthAfter({ ...down, failingMs: 100_000 }, [probeFailed], limits).exhausted).toBe(true);
    expect(healthAfter({ ...down, failingMs: 100_000 }, [probeSent], limits).exhausted).toBe(false);
    const seldom = { ...well, consecutiveFailures: 1, failingMs: 900_000 };
    expect(healthAfter(seldom, [failed], limits).exhausted).toBe(false);
  });
});
