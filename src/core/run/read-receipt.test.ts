import { describe, expect, it } from 'vitest';
import { encodeReceipt, type Receipt } from '../model/receipt.ts';
import { noNotes } from '../model/run-notes.ts';
import { decodeAtOnce } from '../source/decode/decode-turns.ts';
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
const read = (text: string) => readReceipt(text, decodeAtOnce);
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

  it('of another version is left to a worker of that version', async () => {
    await expect(read(changed({ v: 2 }))).rejects.toThrow('unknown version 2');
  });

  it('may fail a run with a reason of some length only', async () => {
    expect((await read(changed({ failure: 'x'.repeat(6_000_000) }))).failure).toHaveLength(1000);
  });
});
