import { describe, expect, it } from 'vitest';
import type { RejectedRow } from '../model/batch.ts';
import type { RecordOutcome } from '../model/page-outcome.ts';
import { decodeReceipt, encodeReceipt, type QuarantineEntry, type Receipt } from '../model/receipt.ts';
import { runStart } from '../model/run-position.ts';
import { assembleBatch, type ReadyPage, restoreBatch } from './batch.ts';
import { readyPage } from './ready-page-fixture.ts';

const resource = {
  key: 'things',
  onInvalid: 'fail',
  target: { mode: 'upsert', onTypeConflict: 'quarantine' },
} as const;
const redact = (text: string) => text.replaceAll('s3cret', '[redacted]');
const masking = { redact, seal: (text: string) => `sealed ${Buffer.from(text).toString('base64')}` };
const unsealed = (sealed = '') => Buffer.from(sealed.replace('sealed ', ''), 'base64').toString();
const options = { resource, runId: 'run_1', batchNo: 3, ...masking } as const;

describe('a batch', () => {
  it('accounts for every record of its pages: in = out + skipped + quarantined + deleted by a flag', () => {
    const first = page(1, [deliver('a'), quarantine('b'), tombstone('d', true)], 5);
    const batch = assembleBatch([first, page(2, [deliver('c'), tombstone('e', false)], 1)], options);
    const { pages, deleted } = batch.receiptOf([]);
    expect(pages).toEqual([
      { pageNo: 1, requestKey: 'k1', recordsIn: 5, recordsOut: 1, skipped: 2, quarantined: 1, invalid: 1, deleted: 1 },
      { pageNo: 2, requestKey: 'k2', recordsIn: 1, recordsOut: 1, skipped: 0, quarantined: 0, invalid: 0, deleted: 1 },
    ]);
    expect(deleted).toEqual(['d', 'e']);
    expect(batch.tombstones).toEqual(['d', 'e'].map((externalId) => ({ externalId, effect: 'soft' })));
  });

  it('contains only the last state of a record that is delivered and then deleted, or deleted and then delivered', () => {
    const gone = assembleBatch([page(1, [deliver('a')], 1), page(2, [tombstone('a', true)], 1)], options);
    expect(gone.rows).toEqual([]);
    expect(gone.receiptOf([])).toMatchObject({ deleted: ['a'], records: [], pages: [{ skipped: 1 }, { deleted: 1 }] });
    const back = assembleBatch([page(1, [tombstone('a', true)], 1), page(2, [deliver('a')], 1)], options);
    expect(back.tombstones).toEqual([]);
    expect(back.receiptOf([])).toMatchObject({ deleted: [], records: [{ externalId: 'a', status: 'delivered' }] });
  });

  it('delivers a record that comes twice once, in its last version, and counts the earlier as skipped', () => {
    const batch = assembleBatch([page(1, [deliver('a', 1)], 1), page(2, [deliver('a', 2)], 1)], options);
    expect(batch.rows).toEqual([{ externalId: 'a', hash: null, data: { version: 2 } }]);
    const { pages, records } = batch.receiptOf([]);
    expect(pages).toMatchObject([{ recordsOut: 0, skipped: 1 }, { recordsOut: 1 }]);
    expect(records).toMatchObject([{ externalId: 'a', hash: 'h2', status: 'delivered' }]);
  });

  it('keeps it at its first place: refusals that an outbox has stored count from there', () => {
    const batch = assembleBatch([page(1, [deliver('a', 1), deliver('b'), deliver('a', 2)], 3)], options);
    expect(batch.rows.map(({ externalId }) => externalId)).toEqual(['a', 'b']);
    const { records } = batch.receiptOf([{ index: 0, externalId: 'a', message: 'no' }]);
    expect(records).toMatchObject([
      { externalId: 'b', status: 'delivered' },
      { externalId: 'a', status: 'quarantined' },
    ]);
  });

  it('delivers every version in mode append, and quarantines only the one refused', () => {
    const append = { ...options, resource: { ...resource, target: { ...resource.target, mode: 'append' } } } as const;
    const batch = assembleBatch([page(1, [deliver('a', 1)], 1), page(2, [deliver('a', 2)], 1)], append);
    expect(batch.rows.map(({ data }) => data)).toEqual([{ version: 1 }, { version: 2 }]);
    const receipt = batch.receiptOf([{ index: 0, externalId: 'a', message: 'no' }]);
    expect(receipt.pages).toMatchObject([{ recordsOut: 0, quarantined: 1 }, { recordsOut: 1 }]);
    expect(receipt.records).toMatchObject([{ hash: 'h2', status: 'delivered' }]);
  });

  it('keeps the entry of the later outcome when a valid version is followed by an invalid one', () => {
    const batch = assembleBatch([page(1, [deliver('a', 1), quarantine('a')], 2)], options);
    expect(batch.rows).toHaveLength(1);
    expect(batch.receiptOf([]).records).toMatchObject([{ externalId: 'a', status: 'quarantined' }]);
  });

  it('ends with what came last of a record: an invalid version behind its deletion, or its deletion behind that', () => {
    const back = assembleBatch([page(1, [tombstone('a', true), quarantine('a')], 2)], options);
    expect(back.tombstones).toHaveLength(1);
    expect(back.receiptOf([])).toMatchObject({ deleted: [], records: [{ externalId: 'a', status: 'quarantined' }] });
    const gone = assembleBatch([page(1, [quarantine('a'), tombstone('a', true)], 2)], options);
    expect(gone.receiptOf([])).toMatchObject({ deleted: ['a'], records: [], quarantine: [{ externalId: 'a' }] });
  });

  it.each<[string, RecordOutcome, readonly RejectedRow[]]>([
    ['delivered', deliver('a', 2), []],
    ['deleted', tombstone('a', true), []],
    ['refused', deliver('a', 2), [{ index: 0, externalId: 'a', message: 'no' }]],
    ['kept back', quarantine('a'), []],
  ])('tries no version again of a record that is %s behind it', (_end, end, rejected) => {
    const { row } = quarantine('a') as Extract<RecordOutcome, { readonly kind: 'quarantine' }>;
    const retried = { ...page(1, [{ kind: 'wait', row }], 1), retried: ['quar_0'] };
    expect(assembleBatch([retried], options).receiptOf([]).again).toEqual([row]);
    expect(assembleBatch([retried, page(2, [end], 1)], options).receiptOf(rejected).again).toBeUndefined();
    const degraded = { ...deliver('a'), again: row } as RecordOutcome;
    expect(assembleBatch([page(1, [degraded, end], 2)], options).receiptOf(rejected).again).toBeUndefined();
    const append = { ...options, resource: { ...resource, target: { ...resource.target, mode: 'append' } } } as const;
    const ofAll = assembleBatch([retried, page(2, [end], 1)], append).receiptOf(rejected).again ?? [];
    expect(ofAll).toHaveLength(end.kind === 'delete' ? 0 : 1);
  });

  it('sends no deletion of a record that was never delivered, and counts none', () => {
    const never = { kind: 'delete', tombstone: { externalId: 'a', effect: 'hard', isUndelivered: true } } as const;
    const batch = assembleBatch([page(1, [{ ...never, flagged: true }], 1)], options);
    expect(batch.tombstones).toEqual([]);
    expect(batch.receiptOf([])).toMatchObject({ deleted: ['a'], pages: [{ deleted: 0, skipped: 1 }] });
  });

  it('names the records whose quarantine rows it closes where that does not follow from their fingerprints', () => {
    const undetected = { ...deliver('a'), entry: null } as RecordOutcome;
    expect(assembleBatch([page(1, [undetected, quarantine('b')], 2)], options).receiptOf([]).closes).toEqual(['a']);
    const retried = { ...page(1, [deliver('a')], 1), retried: ['quar_1'] };
    expect(assembleBatch([retried], options).receiptOf([]).closes).toEqual([]);
    expect(assembleBatch([retried, page(2, [deliver('a', 2)], 1)], options).receiptOf([]).closes).toEqual(['a']);
    expect(assembleBatch([page(1, [deliver('a')], 1)], options).receiptOf([]).closes).toBeNull();
  });

  it('says of a record that was kept back whether a version of it was delivered before', () => {
    const batch = assembleBatch([page(1, [deliver('a'), quarantine('a'), quarantine('b')], 3)], options);
    expect(batch.receiptOf([]).deliveredBefore).toEqual(['a']);
  });

  it('quarantines a row that the destination refuses, with the reason and the record as fetched', () => {
    const batch = assembleBatch([page(1, [deliver('a'), deliver('b')], 2)], options);
    const receipt = batch.receiptOf([{ index: 0, externalId: 'a', message: 'column "n" does not hold it' }]);
    expect(receipt.pages).toMatchObject([{ recordsOut: 1, quarantined: 1 }]);
    expect(receipt.quarantine).toMatchObject([
      { externalId: 'a', rawJson: '{"raw":"a"}', errors: [{ message: 'column "n" does not hold it' }] },
    ]);
    expect(receipt.records).toMatchObject([{ status: 'quarantined' }, { status: 'delivered' }]);
  });

  it.each([
    ['upsert', [2], [{ recordsOut: 0 }, { deleted: 0 }, { recordsOut: 1 }]],
    ['append', [1, 2], [{ recordsOut: 1 }, { deleted: 0 }, { recordsOut: 1 }]],
  ] as const)('drops the tombstone of a record that comes back, in mode %s', (mode, rows, pages) => {
    const target = { ...options, resource: { ...resource, target: { ...resource.target, mode } } };
    const read = [page(1, [deliver('a', 1)], 1), page(2, [tombstone('a', true)], 1), page(3, [deliver('a', 2)], 1)];
    const batch = assembleBatch(read, target);
    expect(batch.tombstones).toEqual([]);
    expect(batch.rows.map(({ data }) => data['version'])).toEqual(rows);
    expect(batch.receiptOf([])).toMatchObject({ pages, deleted: [], records: [{ hash: 'h2' }] });
  });

  it.each([
    ['upsert', []],
    ['append', ['a']],
  ] as const)('ends with the tombstone of a record whose last version is deleted, in mode %s', (mode, rows) => {
    const target = { ...options, resource: { ...resource, target: { ...resource.target, mode } } };
    const batch = assembleBatch([page(1, [deliver('a'), tombstone('a', true)], 2)], target);
    expect(batch.rows.map(({ externalId }) => externalId)).toEqual(rows);
    expect(batch.tombstones).toEqual([{ externalId: 'a', effect: 'soft' }]);
    expect(batch.receiptOf([])).toMatchObject({ deleted: ['a'], records: [] });
  });

  it('makes the receipt of a batch of which nothing is refused once, and another for what is refused', () => {
    const batch = assembleBatch([page(1, [deliver('a')], 1)], options);
    const ahead = batch.receiptOf([]);
    expect(batch.receiptOf([])).toBe(ahead);
    const refused = [{ index: 0, externalId: 'a', message: 'no' }];
    expect(batch.receiptOf(refused)).toMatchObject({ pages: [{ recordsOut: 0, quarantined: 1 }] });
    expect(batch.receipt(refused)).toContain(batch.receiptOf(refused).quarantine[0]?.id);
  });

  it('keeps a record as it is known whose deletion is refused, and tries one again that a cursor has passed', () => {
    const found = [deliver('d'), tombstone('a', true), tombstone('b', false), tombstone('c', false)];
    const batch = assembleBatch([page(1, found, 2)], options);
    const refused = [1, 2].map((index) => ({ index, externalId: 'x', message: 'kept' }));
    expect(decodeReceipt(batch.receipt(refused))).toMatchObject({
      deleted: ['c'],
      pages: [{ recordsIn: 2, recordsOut: 1, deleted: 1, quarantined: 1, skipped: 0 }],
      quarantine: [{ externalId: 'a', rawJson: '{"raw":"a"}', errors: [{ message: 'kept' }], isAwaited: true }],
      records: [{ externalId: 'd' }, { externalId: 'a', hash: 'gone', status: 'quarantined' }],
      incomplete: true,
      notes: { delete_refused: 2 },
      failure: null,
    });
  });

  it('never fails for a record that its table may take later: it is skipped, noted, and tried again', () => {
    const strict = { ...resource, target: { mode: 'update', onTypeConflict: 'fail' } } as const;
    const batch = assembleBatch([page(1, [deliver('a')], 1)], { ...options, resource: strict });
    const receipt = batch.receiptOf([{ index: 0, externalId: 'a', message: 'no row', isAwaited: true }]);
    expect(receipt).toMatchObject({
      failure: null,
      pages: [{ recordsIn: 1, recordsOut: 0, quarantined: 0, skipped: 1 }],
      quarantine: [{ externalId: 'a', isAwaited: true }],
      records: [{ status: 'quarantined' }],
      notes: { row_missing: 1 },
    });
  });

  it('keeps no secret that the API echoed into a refused record', () => {
    const echoed = { ...deliver('a'), raw: { raw: 'token s3cret' } };
    const receipt = assembleBatch([page(1, [echoed], 1)], options).receipt([
      { index: 0, externalId: 'a', message: 'no' },
    ]);
    expect(receipt).toContain('[redacted]');
    expect(receipt).not.toContain('s3cret');
    expect(unsealed(decodeReceipt(receipt).quarantine[0]?.sealed)).toBe('{"raw":{"raw":"token s3cret"},"each":{}}');
  });

  it('fails instead where the target says so', () => {
    const strict = {
      ...options,
      resource: { ...resource, target: { mode: 'upsert', onTypeConflict: 'fail' } },
    } as const;
    const batch = assembleBatch([page(1, [deliver('a')], 1)], strict);
    const refused = [{ index: 0, externalId: 'a', message: 'does not fit' }];
    expect(() => batch.receipt(refused)).toThrow(/does not fit/);
    const again = assembleBatch([{ ...page(1, [deliver('a')], 1), retried: ['quar_1'] }], strict);
    expect(again.receiptOf(refused)).toMatchObject({ quarantine: [{ externalId: 'a' }], retried: ['quar_1'] });
  });

  it('says that the run fails when a receiver names a record, keeps nothing of that record and passes no watermark', () => {
    const partition = { partition: '', watermark: '2026', completed: null };
    const batch = assembleBatch([{ ...page(1, [deliver('a'), deliver('b')], 2), partition }], options);
    const refused = [{ index: 0, externalId: 'a', message: 'no', isNamed: true }] as const;
    const receipt = decodeReceipt(batch.receipt(refused));
    expect(receipt).toMatchObject({
      failure: expect.stringContaining('set onInvalid to "quarantine"'),
      records: [{ externalId: 'b' }],
      quarantine: [],
      partitions: [],
      pages: [{ recordsIn: 1, recordsOut: 1, skipped: 0, quarantined: 0 }],
    });
    const putUpWith = { ...options, resource: { ...resource, onInvalid: 'quarantine' } } as const;
    const kept = assembleBatch([{ ...page(1, [deliver('a')], 1), partition }], putUpWith).receiptOf(refused);
    expect(kept).toMatchObject({ failure: null, quarantine: [{ externalId: 'a' }], partitions: [partition] });
  });

  it('carries the position of its last page and the latest word on each partition', () => {
    const of = (partition: string, watermark: string) => ({ partition, watermark, completed: null });
    const pages = [
      { ...page(1, [], 0), partition: of('a', '1') },
      { ...page(2, [], 0), partition: of('a', '2') },
      { ...page(3, [], 0), partition: of('b', '1'), positionAfter: runStart },
    ];
    expect(assembleBatch(pages, options).receiptOf([])).toMatchObject({
      position: runStart,
      partitions: [of('a', '2'), of('b', '1')],
    });
  });
});

describe('a draft', () => {
  it.each(['upsert', 'append'] as const)(
    'gives another process the receipt of mode %s, whatever was refused, and holds no data of a row',
    async (mode) => {
      const pages = [
        page(1, [deliver('a'), deliver('b', 1), quarantine('c')], 5),
        page(2, [deliver('b', 2), tombstone('a', true)], 2),
      ];
      const target = { ...resource.target, mode };
      const batch = assembleBatch(pages, { ...options, resource: { ...resource, target } });
      const draft = await batch.draft();
      const restored = restoreBatch(draft, masking);
      expect(draft).not.toContain('"data":{"');
      for (const refused of [[], batch.rows.map(({ externalId }, index) => ({ index, externalId, message: 'no' }))]) {
        expect(withoutIds(restored.receiptOf(refused))).toEqual(withoutIds(batch.receiptOf(refused)));
      }
    },
  );

  it('holds no secret that a record repeats, whether it is delivered or not, and gives the receipt as before', async () => {
    const raw = { id: 'a', self: `/a?key=s3cret`, s3cret: 1 };
    const deleted = { externalId: 'b', effect: 'soft' } as const;
    const outcomes: readonly RecordOutcome[] = [
      { kind: 'deliver', row: { externalId: 'a', hash: null, data: { id: 'a' } }, entry: null, raw },
      { kind: 'delete', tombstone: deleted, flagged: true, record: { raw, entry: null } },
    ];
    const pages = [{ ...page(1, outcomes, 2), each: { parent: { self: 's3cret' } } }];
    const batch = assembleBatch(pages, options);
    const draft = await batch.draft();
    expect(draft).not.toContain('s3cret');
    expect(JSON.parse(draft).pages[0].outcomes[0].raw).toEqual({ id: 'a', self: '/a?key=[redacted]', '[redacted]': 1 });
    const refused = [{ index: 0, externalId: 'a', message: 'no' }];
    const restored = restoreBatch(draft, masking).receiptOf(refused);
    expect(withoutIds(restored)).toEqual(withoutIds(batch.receiptOf(refused)));
    const [entry] = restored.quarantine;
    expect(JSON.parse(unsealed(entry?.sealed))).toEqual({ raw, each: { parent: { self: 's3cret' } } });
  });

  it('and its receipt hold nothing of a retried record, whose row has it with secrets that may be known no more', async () => {
    const outcome = {
      ...deliver('a'),
      raw: { id: 'a', self: 'replaced' },
      retry: { id: 'quar_1', version: '', isLast: true },
    };
    const retried = { ...page(1, [outcome], 1), retried: ['quar_1'], each: { parent: 'replaced' } };
    const batch = assembleBatch([retried], options);
    const draft = await batch.draft();
    const refused = [{ index: 0, externalId: 'a', message: 'no' }];
    expect(draft + batch.receipt(refused)).not.toContain('replaced');
    expect(restoreBatch(draft, masking).receiptOf(refused)).toEqual(batch.receiptOf(refused));
    expect(batch.receiptOf(refused).quarantine).toMatchObject([{ id: 'quar_1', isAgain: true }]);
  });

  const withoutIds = (receipt: Receipt) => ({
    ...receipt,
    quarantine: receipt.quarantine.map(({ id: _id, ...entry }) => entry),
  });
});

describe('a receipt', () => {
  it('is the same after its way through the destination', () => {
    const receipt = assembleBatch([page(1, [deliver('a'), quarantine('b')], 2)], options).receiptOf([]);
    expect(decodeReceipt(encodeReceipt(receipt))).toEqual(receipt);
  });

  it('keeps cursors and fields where records have them', () => {
    const receipt = assembleBatch([page(1, [deliver('a')], 1)], options).receiptOf([]);
    const [record] = receipt.records;
    if (!record) throw new Error('It has a record');
    const records = [record, { ...record, externalId: 'b', cursor: '7', fields: { x: 1 } }];
    expect(decodeReceipt(encodeReceipt({ ...receipt, records })).records).toEqual(records);
  });

  it('of an earlier version of the service is read: each record has one open row', () => {
    const receipt = assembleBatch([page(1, [quarantine('b')], 1)], options).receiptOf([]);
    const {
      deliveredBefore: _,
      closes: _closes,
      closesVersions: _versions,
      ...earlier
    } = JSON.parse(encodeReceipt(receipt));
    const rows = earlier.quarantine.map(({ version: _version, isAgain: _isAgain, ...row }: QuarantineEntry) => row);
    expect(decodeReceipt(JSON.stringify({ ...earlier, quarantine: rows }))).toEqual(receipt);
  });

  it('of an unknown version is refused', () => {
    const receipt = JSON.parse(assembleBatch([page(1, [deliver('a')], 1)], options).receipt([]));
    expect(() => decodeReceipt(JSON.stringify({ ...receipt, v: receipt.v + 1 }))).toThrow(/unknown version/);
    expect(() => decodeReceipt('{}')).toThrow(/unknown version/);
  });
});

const page = (pageNo: number, outcomes: readonly RecordOutcome[], recordsIn: number): ReadyPage =>
  readyPage({
    pageNo,
    requestKey: `k${pageNo}`,
    recordsIn,
    skipped: recordsIn - outcomes.length,
    invalid: outcomes.filter(({ kind }) => kind === 'quarantine').length,
    outcomes,
  });

const deliver = (externalId: string, version = 1): RecordOutcome => ({
  kind: 'deliver',
  row: { externalId, hash: null, data: { version } },
  entry: { externalId, hash: `h${version}`, cursor: null, status: 'delivered', fields: null },
  raw: { raw: externalId },
});

const quarantine = (externalId: string): RecordOutcome => ({
  kind: 'quarantine',
  row: { id: `quar_${externalId}`, externalId, rawJson: '{}', each: {}, errors: [], version: '', isAgain: false },
  entry: { externalId, hash: 'bad', cursor: null, status: 'quarantined', fields: null },
});

const tombstone = (externalId: string, flagged: boolean): RecordOutcome => ({
  kind: 'delete',
  tombstone: { externalId, effect: 'soft' },
  flagged,
  ...(flagged && {
    record: {
      raw: { raw: externalId },
      entry: { externalId, hash: 'gone', cursor: null, status: 'quarantined', fields: null },
    },
  }),
});
