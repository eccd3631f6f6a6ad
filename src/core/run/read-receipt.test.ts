import { describe, expect, it } from 'vitest';
import { encodeReceipt, type Receipt } from '../model/receipt.ts';
import { noNotes } from '../model/run-notes.ts';
import { ThrottledError } from '../model/throttled.ts';
import { createDecodeQueue, decodeAtOnce } from '../source/decode/decode-turns.ts';
import { readReceipt } from './read-receipt.ts';

const receipt: Receipt = {
  runId: 'run_1',
  batchNo: 2,
  pages: [],
  records: [{ externalId: '1', hash: 'h', cursor: null, status: 'delivered', fields: null }],
  allNew: true,
  deleted: [],
  deliveredBefore: [],
  closes: null,
  closesVersions: [],
  seen: [{ partition: '', externalIds: ['1'] }],
  quarantine: [],
  retried: [],
  partitions: [],
  proofs: [],
  scan: null,
  incomplete: false,
  notes: noNotes,
  position: null,
  failure: null,
};
const page = {
  pageNo: 1,
  requestKey: 'k',
  recordsIn: 1,
  recordsOut: 1,
  skipped: 0,
  quarantined: 0,
  invalid: 0,
  deleted: 0,
};
const counts = ['pageNo', 'recordsIn', 'recordsOut', 'skipped', 'quarantined', 'invalid', 'deleted'];
const position = {
  stage: 'partition',
  no: 0,
  step: 'read',
  read: null,
  gaps: [],
  totals: { count: 0, skipped: 0, gaps: [] },
};
const read = (text: string) => readReceipt(text, { turns: decodeAtOnce, held: decodeAtOnce.open() });
const changed = (parts: object) => JSON.stringify({ ...JSON.parse(encodeReceipt(receipt)), ...parts });

describe('the receipt of a checkpoint', () => {
  it('is read as it was written', async () => {
    expect(await read(encodeReceipt(receipt))).toEqual(receipt);
  });

  it.each([
    ['is not JSON', 'deleted'],
    ['lacks a part', changed({ pages: undefined })],
    ['has ids that are lists', changed({ externalIds: [[]] })],
    ['has counts that are texts', changed({ batchNo: '2' })],
    ['has quarantined records without an id', changed({ quarantine: [{ externalId: '1', rawJson: '{}' }] })],
    ['is a list of 60 MB', `{"v":1,"externalIds":[${'[],'.repeat(20_000_000)}[]]}`],
  ])('that %s was changed by somebody else', async (_, text) => {
    await expect(read(text)).rejects.toMatchObject({
      code: 'destination_rejected',
      message: expect.stringContaining('_css_checkpoint'),
    });
  });

  it.each(
    counts.flatMap((count) => [-1, 1.5, '1', null, 1e300, [1], undefined].map((value) => [count, value] as const)),
  )('that counts %s as %j was changed by somebody else', async (count, value) => {
    expect((await read(changed({ pages: [page] }))).pages).toEqual([page]);
    await expect(read(changed({ pages: [{ ...page, [count]: value }] }))).rejects.toMatchObject({
      code: 'destination_rejected',
    });
  });

  it.each<[string, unknown]>([
    ['batchNo', -1],
    ['batchNo', 2 ** 31],
    ['pages', [{ ...page, requestKey: 1 }]],
    ['quarantined', [-1]],
    ['allNew', 'yes'],
    ['incomplete', 1],
    ['notes', { stale: -1 }],
    ['notes', { stale: '1' }],
    ['notes', ['stale']],
    ['deliveredBefore', [1]],
    ['closes', 'all'],
    ['closesVersions', [{ externalId: '1' }]],
    ['left', [{ partition: '' }]],
    ['flagged', [{ externalId: 1, cursor: null }]],
    ['notFetched', {}],
    ['partitions', [{ partition: '', watermark: 1 }]],
    ['partitions', [{ partition: '', watermark: null, completed: 'now' }]],
    ['proofs', [{ partition: '', proof: 1, completed: null }]],
    ['scan', { confirm: -1 }],
    ['listed', [{ partition: '', named: {}, end: null }]],
    ['position', 'partition'],
    ['position', { stage: 'other' }],
    ['position', { ...position, no: -1 }],
    ['position', { ...position, gaps: 1 }],
    ['position', { ...position, totals: null }],
    ['position', { stage: 'retry', after: 1 }],
  ])('with another %s was changed by somebody else: %j', async (part, value) => {
    expect(await read(changed({ position }))).toMatchObject({ position });
    await expect(read(changed({ [part]: value }))).rejects.toMatchObject({ code: 'destination_rejected' });
  });

  it('of another version is left to a worker of that version', async () => {
    await expect(read(changed({ v: 2 }))).rejects.toThrow('unknown version 2');
  });

  it('is read in the memory of its text, which is counted as a body is', async () => {
    using turns = createDecodeQueue(10_000_000).open('org');
    const held = turns.open();
    held.hold(8_000_000);
    const text = changed({ failure: 'x'.repeat(4_000_000) });
    expect(await readReceipt(text, { turns, held })).toMatchObject({ runId: 'run_1' });
    expect(() => turns.open().hold(1)).toThrow(ThrottledError);
    held.release();
  });

  it('may fail a run with a reason of some length only', async () => {
    expect((await read(changed({ failure: 'x'.repeat(6_000_000) }))).failure).toHaveLength(1000);
  });
});
