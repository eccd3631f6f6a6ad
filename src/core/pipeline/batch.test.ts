import { describe, expect, it } from 'vitest';
import { assembleBatch, type ReadyPage } from './batch.ts';
import type { Outcome } from './page-outcome.ts';
import { decodeReceipt, encodeReceipt } from './receipt.ts';

const resource = { key: 'things', target: { onTypeConflict: 'quarantine' } } as const;
const redact = (text: string) => text.replaceAll('s3cret', '[redacted]');
const options = { resource, runId: 'run_1', batchNo: 3, redact } as const;

describe('a batch', () => {
  it('accounts for every record of its pages: in = out + skipped + quarantined', () => {
    const batch = assembleBatch([page(1, [deliver('a'), quarantine('b')], 5), page(2, [deliver('c')], 1)], options);
    const { pages } = batch.receiptOf([]);
    expect(pages).toEqual([
      { pageNo: 1, requestKey: 'k1', recordsIn: 5, recordsOut: 1, skipped: 3, quarantined: 1 },
      { pageNo: 2, requestKey: 'k2', recordsIn: 1, recordsOut: 1, skipped: 0, quarantined: 0 },
    ]);
  });

  it('delivers a record that comes twice once, in its last version, and counts the earlier as skipped', () => {
    const batch = assembleBatch([page(1, [deliver('a', 1)], 1), page(2, [deliver('a', 2)], 1)], options);
    expect(batch.rows).toEqual([{ externalId: 'a', data: { version: 2 } }]);
    const { pages, records } = batch.receiptOf([]);
    expect(pages).toMatchObject([{ recordsOut: 0, skipped: 1 }, { recordsOut: 1 }]);
    expect(records).toEqual([{ externalId: 'a', hash: 'h2', cursor: null, status: 'delivered' }]);
  });

  it('keeps the entry of the later outcome when a valid version is followed by an invalid one', () => {
    const batch = assembleBatch([page(1, [deliver('a', 1), quarantine('a')], 2)], options);
    expect(batch.rows).toHaveLength(1);
    expect(batch.receiptOf([]).records).toMatchObject([{ externalId: 'a', status: 'quarantined' }]);
  });

  it('quarantines a row that the destination refuses, with the reason and the record as fetched', () => {
    const batch = assembleBatch([page(1, [deliver('a'), deliver('b')], 2)], options);
    const receipt = batch.receiptOf([{ externalId: 'a', message: 'column "n" does not hold it' }]);
    expect(receipt.pages).toMatchObject([{ recordsOut: 1, quarantined: 1 }]);
    expect(receipt.quarantine).toMatchObject([
      { externalId: 'a', rawJson: '{"raw":"a"}', errors: [{ message: 'column "n" does not hold it' }] },
    ]);
    expect(receipt.records).toMatchObject([{ status: 'quarantined' }, { status: 'delivered' }]);
  });

  it('keeps no secret that the API echoed into a refused record', () => {
    const echoed = { ...deliver('a'), raw: { raw: 'token s3cret' } };
    const receipt = assembleBatch([page(1, [echoed], 1)], options).receipt([{ externalId: 'a', message: 'no' }]);
    expect(receipt).toContain('[redacted]');
    expect(receipt).not.toContain('s3cret');
  });

  it('fails instead where the target says so', () => {
    const strict = { ...options, resource: { key: 'things', target: { onTypeConflict: 'fail' } } } as const;
    const batch = assembleBatch([page(1, [deliver('a')], 1)], strict);
    expect(() => batch.receipt([{ externalId: 'a', message: 'does not fit' }])).toThrow(/does not fit/);
  });

  it('carries the watermark and the position of its last page', () => {
    const last = { ...page(2, [], 0), watermarkAfter: '2026-01-01T00:00:00.000Z' };
    expect(assembleBatch([page(1, [], 0), last], options).receiptOf([])).toMatchObject({
      position: null,
      watermark: '2026-01-01T00:00:00.000Z',
    });
  });
});

describe('a receipt', () => {
  it('is the same after its way through the destination', () => {
    const receipt = assembleBatch([page(1, [deliver('a'), quarantine('b')], 2)], options).receiptOf([]);
    expect(decodeReceipt(encodeReceipt(receipt))).toEqual(receipt);
  });

  it('of an unknown version is refused', () => {
    expect(() => decodeReceipt('{"v":2}')).toThrow(/unknown version/);
  });
});

const page = (pageNo: number, outcomes: readonly Outcome[], recordsIn: number): ReadyPage => ({
  pageNo,
  requestKey: `k${pageNo}`,
  recordsIn,
  skipped: recordsIn - outcomes.length,
  outcomes,
  positionAfter: null,
  watermarkAfter: null,
});

const deliver = (externalId: string, version = 1): Outcome => ({
  kind: 'deliver',
  row: { externalId, data: { version } },
  entry: { externalId, hash: `h${version}`, cursor: null, status: 'delivered' },
  raw: { raw: externalId },
});

const quarantine = (externalId: string): Outcome => ({
  kind: 'quarantine',
  row: { id: `quar_${externalId}`, externalId, rawJson: '{}', errors: [] },
  entry: { externalId, hash: 'bad', cursor: null, status: 'quarantined' },
});
