import * as v from 'valibot';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Batch, RejectedRow } from '../model/batch.ts';
import type { RecordOutcome } from '../model/page-outcome.ts';
import { type RunPosition, runStart } from '../model/run-position.ts';
import { createInvalidLimit } from '../pipeline/invalid-limit.ts';
import { createKnownRecords } from '../pipeline/known-records.ts';
import { readyPage } from '../pipeline/ready-page-fixture.ts';
import { ConnectorSpec } from '../spec/schema/spec-schema.ts';
import { createDelivery } from './delivery.ts';
import type { Recorded } from './run-ledger.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe('a delivery', () => {
  it('sends the first page at once, and those of the next 250 ms together', async () => {
    const { delivery, sent } = deliveryTo();
    await delivery.add(pageOf(1));
    await delivery.add(pageOf(1));
    await delivery.add(pageOf(1));
    await vi.advanceTimersByTimeAsync(249);
    expect(sent).toEqual([1]);
    await vi.advanceTimersByTimeAsync(1);
    expect(sent).toEqual([1, 2]);
  });

  it('sends a batch of 1,000 records without a pause', async () => {
    const { delivery, sent } = deliveryTo();
    await delivery.add(pageOf(1));
    await delivery.add(pageOf(999));
    expect(sent).toEqual([1]);
    await delivery.add(pageOf(1));
    await vi.advanceTimersByTimeAsync(0);
    expect(sent).toEqual([1, 1000]);
  });

  it('records a batch of 50 pages without a pause, however little they bring', async () => {
    const { delivery, recorded } = deliveryTo();
    await delivery.add(pageOf(0));
    for (let page = 1; page < 50; page += 1) await delivery.add(pageOf(0));
    await vi.advanceTimersByTimeAsync(0);
    expect(recorded).toEqual([1]);
    await delivery.add(pageOf(0));
    await vi.advanceTimersByTimeAsync(0);
    expect(recorded).toEqual([1, 50]);
  });

  it('leaves the batch that ends the read to the end of the run, unless it brings something', async () => {
    const quiet = deliveryTo();
    await quiet.delivery.add(pageOf(0, null));
    await quiet.delivery.drained();
    expect(quiet).toMatchObject({ recorded: [], leftToEnd: [1] });
    for (const { fresh, records } of [
      { fresh: false, records: 1 },
      { fresh: true, records: 0 },
    ]) {
      const { delivery, recorded, leftToEnd } = deliveryTo({ fresh });
      await delivery.add(pageOf(records, null));
      await delivery.drained();
      expect([recorded, leftToEnd]).toEqual([[1], []]);
    }
  });

  it('spares the destination a batch without rows, unless nothing was ever applied there', async () => {
    const { delivery, sent } = deliveryTo();
    await delivery.add(pageOf(0));
    await delivery.drained();
    expect(sent).toEqual([]);
    const fresh = deliveryTo({ fresh: true });
    for (const _page of [1, 2]) {
      await fresh.delivery.add(pageOf(0));
      await fresh.delivery.drained();
    }
    expect(fresh.sent).toEqual([0]);
    expect(fresh.recorded).toEqual([1, 1]);
  });

  it('ends with the attempt when the ledger does not take the batch', async () => {
    const { delivery } = deliveryTo({ record: { outcome: 'fenced' } });
    await delivery.add(pageOf(1));
    await expect(delivery.drained()).rejects.toMatchObject({ code: 'fenced' });
  });
});

describe('a batch is in progress', () => {
  it('from when it is sent until it is recorded', async () => {
    const { promise, resolve } = Promise.withResolvers<readonly RejectedRow[]>();
    const { delivery } = deliveryTo({ apply: () => promise });
    expect(delivery.isInProgress).toBe(false);
    await delivery.add(pageOf(1));
    expect(delivery.isInProgress).toBe(true);
    resolve([]);
    await delivery.drained();
    expect(delivery.isInProgress).toBe(false);
  });

  it('no longer once the destination has failed, nor is the batch behind it', async () => {
    const { promise, reject } = Promise.withResolvers<readonly RejectedRow[]>();
    const { delivery } = deliveryTo({ apply: () => promise });
    await delivery.add(pageOf(1));
    const second = delivery.add(pageOf(1000));
    reject(new Error('the destination is down'));
    await expect(second).rejects.toThrow('the destination is down');
    await expect(delivery.drained()).rejects.toThrow('the destination is down');
    expect(delivery.isInProgress).toBe(false);
  });

  it('no longer once a refused record has failed the run', async () => {
    const { delivery } = deliveryTo({
      apply: async () => [{ index: 0, externalId: '0', message: 'too long', isNamed: true }],
    });
    await delivery.add(pageOf(1));
    await expect(delivery.drained()).rejects.toMatchObject({ code: 'record_invalid' });
    expect(delivery.isInProgress).toBe(false);
  });

  it('no longer when the delivery is abandoned: the batch behind it is not sent', async () => {
    const { promise, resolve } = Promise.withResolvers<readonly RejectedRow[]>();
    const { delivery, sent } = deliveryTo({ apply: () => promise });
    await delivery.add(pageOf(1));
    const second = delivery.add(pageOf(1000));
    const abandoned = delivery.abandon(60_000);
    resolve([]);
    await Promise.all([second, abandoned]);
    expect(sent).toEqual([1]);
    expect(delivery.isInProgress).toBe(false);
  });
});

interface Outside {
  readonly apply?: (batch: Batch) => Promise<readonly RejectedRow[]>;
  readonly record?: Recorded;
  readonly fresh?: boolean;
}

/**
 * A delivery of run_1. `sent` has the rows of each batch that was applied, `recorded` the pages of each that was
 * recorded, and `leftToEnd` those of one that was not.
 */
function deliveryTo({ apply = async () => [], record, fresh = false }: Outside = {}) {
  const resource = failingResource();
  const sent: number[] = [];
  const recorded: number[] = [];
  const leftToEnd: number[] = [];
  const delivery = createDelivery({
    ledger: {
      written: { find: async () => null, add: async () => undefined },
      behindSince: async () => null,
      noteLeftovers: async () => true,
      prepare: () => undefined,
      async record({ pages }) {
        recorded.push(pages.length);
        return record ?? { outcome: 'recorded', stop: false };
      },
      leaveToEnd: ({ pages }) => void leftToEnd.push(pages.length),
      recordCarried: unused,
      passOver: unused,
      clearRecordedWith: unused,
      noteCompared: unused,
      noteRestored: unused,
      forget: unused,
    },
    runId: 'run_1',
    resource,
    destination: {
      prepare: () => undefined,
      async apply(batch) {
        sent.push(batch.rows.length);
        return await apply(batch);
      },
    },
    known: createKnownRecords(async () => []),
    callsStored: async () => undefined,
    redact: (text) => text,
    seal: (text) => text,
    batchNo: 0,
    appliesFirst: fresh,
    invalidLimit: createInvalidLimit(resource, { recordsIn: 0, invalid: 0 }),
  });
  return { delivery, sent, recorded, leftToEnd };
}

/** A resource whose run fails with a record that the destination refuses. */
function failingResource() {
  const { resources } = v.parse(ConnectorSpec, {
    metadata: { key: 'test', name: 'Test', version: '1.0.0' },
    http: { baseUrl: 'https://api.test' },
    resources: [{ key: 'items', primaryKey: 'id', request: { path: '/items' }, onInvalid: 'fail' }],
  });
  const [resource] = resources;
  if (!resource) throw new Error('the spec has one resource');
  return resource;
}

const unused = (): never => {
  throw new Error('not used by this test');
};

/** The records of one page; no two pages share one. */
const pageOf = (records: number, positionAfter: RunPosition | null = runStart) =>
  readyPage({ recordsIn: records, outcomes: Array.from({ length: records }, delivered), positionAfter });

let made = 0;

function delivered(): RecordOutcome {
  made += 1;
  return { kind: 'deliver', row: { externalId: String(made), hash: null, data: {} }, entry: null, raw: {} };
}
