import { describe, expect, it } from 'vitest';
import type { Health } from '../resources/freshness.ts';
import { freshnessOf, isOverdue, type ResourceFacts } from './freshness.ts';

const nowMs = Date.parse('2026-03-01T12:00:00.000Z');
const ago = (seconds: number) => new Date(nowMs - seconds * 1000).toISOString();

/** A resource that synced an hour ago and has no schedule. */
const facts = (changes: Partial<ResourceFacts> = {}): ResourceFacts => ({
  resourceKey: 'contacts',
  lastRunAt: ago(3610),
  lastRunStatus: 'succeeded',
  inProgress: false,
  attemptsFail: false,
  hasQuarantined: false,
  lastOutcome: 'succeeded',
  lastSuccessAt: ago(3600),
  lastRecords: 12,
  expectedIntervalSeconds: null,
  overdueAt: null,
  ...changes,
});
const never = facts({
  lastRunAt: null,
  lastRunStatus: null,
  lastOutcome: null,
  lastSuccessAt: null,
  lastRecords: null,
});

describe('the health of a resource', () => {
  it.each<[Health, string, ResourceFacts]>([
    ['pending', 'no run', never],
    ['pending', 'no run but canceled ones', { ...never, lastRunAt: ago(5), lastRunStatus: 'canceled' }],
    ['syncing', 'a first run that waits', { ...never, lastRunAt: ago(5), lastRunStatus: 'queued', inProgress: true }],
    ['failing', 'a last run that failed', facts({ lastRunStatus: 'failed', lastOutcome: 'failed' })],
    ['failing', 'another run after one that failed', facts({ lastOutcome: 'failed', inProgress: true })],
    ['failing', 'a canceled run after one that failed', facts({ lastRunStatus: 'canceled', lastOutcome: 'failed' })],
    ['failing', 'a run under way whose attempts fail', facts({ inProgress: true, attemptsFail: true })],
    ['degraded', 'records in quarantine', facts({ hasQuarantined: true })],
    ['syncing', 'a run under way', facts({ lastRunStatus: 'running', inProgress: true })],
    ['syncing', 'a run under way although it is overdue', facts({ inProgress: true, overdueAt: ago(1) })],
    ['degraded', 'a last run that was partial', facts({ lastOutcome: 'partial' })],
    ['degraded', 'a success that is overdue', facts({ overdueAt: ago(1) })],
    ['healthy', 'a success that is not overdue', facts({ overdueAt: ago(-1) })],
    ['healthy', 'a success and no schedule', facts()],
    ['healthy', 'a canceled run after a success', facts({ lastRunStatus: 'canceled' })],
  ])('is %s with %s', (health, _why, resource) => {
    expect(freshnessOf([resource], nowMs).resources).toMatchObject([{ health }]);
  });
});

describe('a success', () => {
  it('is overdue from its time on, if it has one', () => {
    expect([ago(-1), ago(1), null].map((overdueAt) => isOverdue({ overdueAt }, nowMs))).toEqual([false, true, false]);
  });

  it('has an age in whole seconds, 0 when a clock is ahead of ours', () => {
    const ageOf = (lastSuccessAt: string) => freshnessOf([facts({ lastSuccessAt })], nowMs).ageSeconds;
    expect([ageOf(ago(1.9)), ageOf(ago(-30))]).toEqual([1, 0]);
  });
});

describe('the freshness of a connection', () => {
  const of = {
    failing: facts({ lastOutcome: 'failed' }),
    degraded: facts({ lastOutcome: 'partial' }),
    syncing: facts({ inProgress: true }),
    pending: never,
    healthy: facts(),
  };

  it.each<[Health, readonly Health[]]>([
    ['failing', ['healthy', 'pending', 'syncing', 'degraded', 'failing']],
    ['degraded', ['healthy', 'pending', 'syncing', 'degraded']],
    ['syncing', ['healthy', 'pending', 'syncing']],
    ['pending', ['healthy', 'pending']],
    ['healthy', ['healthy', 'healthy']],
    ['pending', []],
  ])('is %s among %j', (health, all) => {
    expect(
      freshnessOf(
        all.map((each) => of[each]),
        nowMs,
      ).health,
    ).toBe(health);
  });

  it('has the newest success of any resource, and is overdue when one is', () => {
    const late = facts({ resourceKey: 'orders', lastSuccessAt: ago(9000), overdueAt: ago(1) });
    expect(freshnessOf([late, facts(), never], nowMs)).toMatchObject({
      lastSuccessAt: ago(3600),
      ageSeconds: 3600,
      overdue: true,
      resources: [
        { resourceKey: 'orders', overdue: true, ageSeconds: 9000 },
        { overdue: false },
        { lastSuccessAt: null, ageSeconds: null },
      ],
    });
  });

  it('shows of runs what a customer may know, nothing else', () => {
    const [resource] = freshnessOf([facts()], nowMs).resources;
    expect(resource).toEqual({
      resourceKey: 'contacts',
      health: 'healthy',
      lastSuccessAt: ago(3600),
      lastRecords: 12,
      lastRunAt: ago(3610),
      lastRunStatus: 'succeeded',
      ageSeconds: 3600,
      expectedIntervalSeconds: null,
      overdue: false,
    });
  });
});
