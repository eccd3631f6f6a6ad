import { describe, expect, it } from 'vitest';
import { newId } from './ids.ts';
import { observations, publishRunEnded, type RunEnded } from './observations.ts';

describe('observations', () => {
  it('reach whoever subscribes, until the subscription ends', () => {
    const seen: unknown[] = [];
    const end = observations.waitBegun.subscribe((fact) => seen.push(fact));
    observations.waitBegun.publish({ reason: 'backoff', waitMs: 5 });
    end();
    observations.waitBegun.publish({ reason: 'backoff', waitMs: 6 });
    expect(seen).toEqual([{ reason: 'backoff', waitMs: 5 }]);
  });

  it('go on when a subscriber throws, and the first error of each is an observation too', () => {
    const seen: number[] = [];
    const failed: unknown[] = [];
    const error = new Error('no');
    const ends = [
      observations.subscriberFailed.subscribe((fact) => failed.push(fact)),
      observations.waitBegun.subscribe(() => {
        throw error;
      }),
      observations.waitBegun.subscribe(({ waitMs }) => seen.push(waitMs)),
    ];
    for (const waitMs of [1, 2]) observations.waitBegun.publish({ reason: 'backoff', waitMs });
    for (const end of ends) end();
    expect(seen).toEqual([1, 2]);
    expect(failed).toEqual([{ observation: 'wait-begun', error }]);
  });

  it('cost less than a microsecond while nobody subscribes', () => {
    const rounds = 200_000;
    const fact = { recordsIn: 1, recordsOut: 1, skipped: 0, quarantined: 0, deleted: 0 };
    const begunAt = performance.now();
    for (let n = 0; n < rounds; n += 1) observations.batchRecorded.publish(fact);
    expect((performance.now() - begunAt) / rounds).toBeLessThan(0.001);
  });

  it('say of an ended run how long it waited and how long it took, and of one that never began neither', () => {
    const seen: RunEnded[] = [];
    const end = observations.runEnded.subscribe((fact) => seen.push(fact));
    const statsJson = { recordsIn: 5, recordsOut: 3, skipped: 1, quarantined: 1, deleted: 0 };
    const lane = { connectionId: newId('con'), resourceKey: 'contacts' };
    const run = { id: newId('run'), ...lane, trigger: 'manual', status: 'succeeded', statsJson, error: null };
    const startedAt = new Date(Date.now() + 60_000).toISOString();
    const finishedAt = new Date(Date.parse(startedAt) + 1500).toISOString();
    publishRunEnded({ ...run, startedAt, finishedAt });
    publishRunEnded({ ...run, status: 'canceled', startedAt: null, finishedAt });
    end();
    expect(seen).toMatchObject([
      { status: 'succeeded', code: null, durationMs: 1500, recordsIn: 5, recordsOut: 3, skipped: 1, quarantined: 1 },
      { status: 'canceled', durationMs: null, queuedMs: null },
    ]);
    expect(seen[0]?.queuedMs).toBeGreaterThan(59_000);
    expect(seen[0]?.queuedMs).toBeLessThan(61_000);
  });
});
