import { describe, expect, it } from 'vitest';
import { exampleConnection as connection, exampleRun } from './examples.ts';
import { recordsQuarantined } from './record-events.ts';
import { runEnded } from './run-events.ts';

const end = { connection, rejected: 0, cancelRequested: false };

describe('the end of a run', () => {
  it.each([
    ['auth_failed', { stage: 'auth', retryable: false }],
    ['source_unavailable', { stage: 'fetch', retryable: true }],
    ['record_invalid', { stage: 'validate', retryable: false }],
    ['destination_rejected', { stage: 'deliver', retryable: false }],
    ['spec_invalid', { stage: null, retryable: false }],
    ['a code of a later version', { stage: null, retryable: true }],
  ])('says of %s where it failed and whether it may mend itself', (code, facts) => {
    const run = { ...exampleRun, status: 'failed', error: { code, message: 'why' } } as const;
    expect(runEnded({ ...end, run }).data).toMatchObject({ error: { code, message: 'why', ...facts } });
  });

  it.each([
    [{ connection: { ...connection, status: 'paused' }, cancelRequested: true }, 'connection_not_active'],
    [{ cancelRequested: true }, 'requested'],
    [{ cancelRequested: false }, 'operator'],
  ] as const)('says why a run was canceled', (facts, reason) => {
    const run = { ...exampleRun, status: 'canceled' } as const;
    expect(runEnded({ ...end, ...facts, run }).data).toMatchObject({ reason });
  });

  it('is none of a run that goes on', () => {
    expect(() => runEnded({ ...end, run: { ...exampleRun, status: 'running' } })).toThrow('has not ended');
  });
});

describe('records that were quarantined', () => {
  const run = { ...exampleRun, statsJson: { ...exampleRun.statsJson, quarantined: 25 } };
  const record = (index: number, validationErrors: unknown = []) => ({
    id: `quar_${index}`,
    externalId: String(index),
    validationErrors,
  });

  it('are named as far as 20, each with path and code of what is wrong', () => {
    const errors = [{ path: 'email', keyword: 'format', message: 'not told' }];
    const records = Array.from({ length: 21 }, (_, index) => record(index, errors));
    const { data } = recordsQuarantined({ run, connection, records });
    expect(data).toMatchObject({ count: 25, truncated: true });
    const named = data['records'] as readonly unknown[];
    expect(named).toHaveLength(20);
    expect(named[0]).toEqual({ quarantineId: 'quar_0', externalId: '0', issues: [{ path: 'email', code: 'format' }] });
  });

  it('stay far below 64 KiB however much is wrong with them', () => {
    const errors = Array.from({ length: 100 }, () => ({ path: 'p'.repeat(10_000), keyword: 'type', message: '' }));
    const records = Array.from({ length: 20 }, (_, index) => record(index, errors));
    const { data } = recordsQuarantined({ run, connection, records });
    expect(JSON.stringify(data).length).toBeLessThan(40_000);
  });

  it('are named without issues when their row holds something else', () => {
    const { data } = recordsQuarantined({ run, connection, records: [record(1, 'not a list')] });
    expect(data['records']).toMatchObject([{ issues: [] }]);
  });
});
