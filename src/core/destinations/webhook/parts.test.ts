import { describe, expect, it } from 'vitest';
import { batchOf, rowOf } from '../../../../test/support/sync/batches.ts';
import { countingSlices } from '../../work/turns-fixture.ts';
import type { OutboxPart } from './outbox.ts';
import { partitionsOf } from './partitions.ts';
import { againOf, halvesOf, partitionOf, recordsOf, splitBatch } from './parts.ts';

const options = {
  orgId: 'org_1',
  connectionId: 'con_1',
  resourceKey: 'contacts',
  specVersion: '1.2.0',
  mode: 'upsert',
  sequenceBefore: 0,
  preparedAt: new Date('2026-11-21T03:00:00.000Z'),
  recordsMax: 500,
  bytesMax: 1_048_576,
  takenBytesMax: null,
  parallelism: 1,
} as const;

const rowsOf = (count: number) => Array.from({ length: count }, (_, n) => rowOf(String(n), { n }));
const idsOf = (part: OutboxPart) => recordsOf(part).map(({ externalId }) => externalId);

describe('a batch in parts', () => {
  it('is sent in the documented envelope', async () => {
    const rows = [{ ...rowOf('123', { name: 'Ada' }), hash: 'aGFzaA' }, rowOf('125')];
    const tombstones = [{ externalId: '124', effect: 'hard' }] as const;
    const { parts } = await splitBatch(batchOf(rows, { tombstones }), { ...options, sequenceBefore: 16 });
    expect(parts.map(({ body }) => JSON.parse(body))).toEqual([
      {
        id: parts[0]?.id,
        type: 'records.batch',
        timestamp: '2026-11-21T03:00:00.000Z',
        apiVersion: '2026-11',
        orgId: 'org_1',
        connectionId: 'con_1',
        runId: 'run_1',
        resourceKey: 'contacts',
        specVersion: '1.2.0',
        batch: { sequence: 17, part: '0', count: 3 },
        records: [
          {
            op: 'upsert',
            externalId: '123',
            hash: 'sha256:66d273d7babebd79155fc133628b1f38d68c0762886dbbbcb1e40492580b5907',
            data: { name: 'Ada' },
          },
          { op: 'upsert', externalId: '125', data: {} },
          { op: 'delete', externalId: '124' },
        ],
      },
    ]);
  });

  it.each(['append', 'update'] as const)('says with each record of mode %s how it is written', async (mode) => {
    const { parts } = await splitBatch(batchOf([rowOf('1')]), { ...options, mode });
    expect(JSON.parse(parts[0]?.body ?? '').records).toEqual([{ op: mode, externalId: '1', data: {} }]);
  });

  it('has no part of more records than allowed, loses none and keeps their order', async () => {
    const { parts } = await splitBatch(batchOf(rowsOf(1201)), options);
    expect(parts.map(({ indexes }) => indexes.length)).toEqual([500, 500, 201]);
    expect(parts.flatMap(idsOf)).toEqual(rowsOf(1201).map(({ externalId }) => externalId));
    expect(new Set(parts.map(({ id }) => id)).size).toBe(3);
  });

  it.each([2_000, 10_000])('has no part of more than %d bytes, and fills them', async (bytesMax) => {
    const rows = Array.from({ length: 400 }, (_, n) => rowOf(String(n), { text: 'é'.repeat(n % 90) }));
    const { parts, rejected } = await splitBatch(batchOf(rows), { ...options, bytesMax });
    const sizes = parts.map(({ body }) => Buffer.byteLength(body));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(bytesMax);
    expect(Math.min(...sizes.slice(0, -1))).toBeGreaterThan(bytesMax - 300);
    expect(rejected).toEqual([]);
    expect(parts.flatMap(idsOf)).toHaveLength(400);
  });

  it('refuses the record that fits into no request, and sends the others', async () => {
    const rows = [rowOf('1'), rowOf('2', { text: 'x'.repeat(2000) }), rowOf('3')];
    const { parts, rejected } = await splitBatch(batchOf(rows), { ...options, bytesMax: 2000 });
    expect(rejected).toEqual([{ index: 1, externalId: '2', message: expect.stringMatching(/^too_large: /) }]);
    expect(parts.map(({ indexes }) => indexes)).toEqual([[0, 2]]);
  });

  it('sends a record that alone is larger than what the receiver took, as far as the spec allows', async () => {
    const rows = [rowOf('1'), rowOf('2', { text: 'x'.repeat(2000) }), rowOf('3')];
    const { parts, rejected } = await splitBatch(batchOf(rows), { ...options, takenBytesMax: 700 });
    expect(parts.map(({ indexes }) => indexes)).toEqual([[0], [1], [2]]);
    expect(rejected).toEqual([]);
  });

  it('of 50,000 records is split in slices, between which other work has its turn', async () => {
    const { parts, turns } = await countingSlices(() => splitBatch(batchOf(rowsOf(50_000)), options));
    expect(parts).toHaveLength(100);
    expect(turns).toBeGreaterThanOrEqual(150);
  });

  it('has the same bytes and ids whenever it is split, and others in another run or batch', async () => {
    const batch = batchOf(rowsOf(700));
    const [once, twice] = [await splitBatch(batch, options), await splitBatch(batch, options)];
    expect(twice).toEqual(once);
    const next = await splitBatch(batch, { ...options, sequenceBefore: once.parts.length });
    const ofOther = await splitBatch({ ...batch, runId: 'run_2' }, options);
    const ids = [once, next, ofOther].flatMap(({ parts }) => parts.map(({ id }) => id));
    expect(new Set(ids).size).toBe(6);
    expect(ids.every((id) => /^bat_[\w-]{43}$/.test(id))).toBe(true);
  });
});

describe('a batch in partitions', () => {
  const rows = Array.from({ length: 900 }, (_, n) => rowOf(String(n % 300), { n }));
  const tombstones = [{ externalId: '7', effect: 'hard' }] as const;
  const batch = batchOf(rows, { tombstones });
  const split = async (parallelism: number) =>
    (await splitBatch(batch, { ...options, recordsMax: 50, parallelism })).parts;
  const ascending = (one: number, other: number) => one - other;
  /** The positions in the batch of each record's versions, as they are sent. */
  const versionsIn = (parts: readonly OutboxPart[]) => {
    const byId = Map.groupBy(parts.flatMap(recordsOf), ({ externalId }) => externalId);
    return [...byId.values()].map((versions) => versions.map(({ index }) => index));
  };

  it.each([1, 2, 3, 4])(
    '%d of them: all versions of a record are in the same one, in their order',
    async (parallelism) => {
      const parts = await split(parallelism);
      const partitions = await partitionsOf(parts, parallelism);
      expect(partitions).toHaveLength(parallelism);
      expect(partitions.flat()).toEqual(parts);
      expect(new Set(parts.map(({ id }) => id)).size).toBe(parts.length);
      expect(Math.max(...parts.map(({ indexes }) => indexes.length))).toBe(50);
      const holders = partitions.map((ofOne) => new Set(ofOne.flatMap(idsOf)));
      expect(holders.reduce((sum, { size }) => sum + size, 0)).toBe(300);
      for (const versions of versionsIn(parts)) expect(versions).toEqual(versions.toSorted(ascending));
      expect(parts.flatMap(({ indexes }) => indexes).toSorted(ascending)).toEqual([...batch.rows.keys(), 900]);
      expect(await split(parallelism)).toEqual(parts);
    },
  );

  it('have the records that their external ids give them, in every release', async () => {
    const ids = ['', 'a', '123', 'é', '\ud800', 'x'.repeat(1000)];
    expect(ids.map((id) => partitionOf(id, 4))).toEqual([2, 2, 1, 2, 0, 0]);
  });

  it.each([
    [1, 4, 1],
    [3, 4, 1],
    [4, 2, 2],
    [4, 1, 1],
  ])('that were %d when they were stored and are %d now are sent in %d rows', async (before, now, expected) => {
    const parts = await split(before);
    const partitions = await partitionsOf(parts, now);
    expect(partitions).toHaveLength(expected);
    expect(partitions.flat().toSorted(byPath)).toEqual(parts);
    const holders = partitions.map((ofOne) => new Set(ofOne.flatMap(idsOf)));
    expect(holders.reduce((sum, { size }) => sum + size, 0)).toBe(300);
    for (const ofOne of partitions) expect(ofOne).toEqual(ofOne.toSorted(byPath));
  });

  const byPath = (one: OutboxPart, other: OutboxPart) => Number(one.path) - Number(other.path);
});

describe('a part', async () => {
  const [whole] = (await splitBatch(batchOf(rowsOf(5)), options)).parts as [OutboxPart];

  it('is halved down to each record, in order, under ids that follow from its own', async () => {
    const leaves = (part: OutboxPart): readonly OutboxPart[] =>
      part.indexes.length === 1 ? [part] : halvesOf(part).flatMap(leaves);
    const all = leaves(whole);
    expect(all.flatMap(idsOf)).toEqual(['0', '1', '2', '3', '4']);
    expect(all.flatMap(({ indexes }) => indexes)).toEqual([0, 1, 2, 3, 4]);
    expect(all.map(({ path }) => path)).toEqual(['0.0.0.0', '0.0.0.1', '0.0.1', '0.1.0', '0.1.1']);
    expect(leaves(whole)).toEqual(all);
    expect(new Set([whole.id, ...all.map(({ id }) => id)]).size).toBe(6);
  });

  it('keeps every value when it is halved', async () => {
    const data = { big: '9007199254740993', f: 1.7976931348623157e308, s: '\0"\\\ud800😀', n: null, '10': 1, a: [{}] };
    const [part] = (await splitBatch(batchOf([rowOf('1', data), rowOf('2')]), options)).parts as [OutboxPart];
    const [half] = halvesOf(part) as [OutboxPart];
    expect(JSON.parse(half.body).records).toEqual([{ op: 'upsert', externalId: '1', data }]);
    expect(JSON.stringify(JSON.parse(half.body).records[0].data)).toBe(JSON.stringify(data));
  });

  it('gives records to be sent once more under another id', async () => {
    const again = againOf(whole, [1, 3]);
    expect(idsOf(again)).toEqual(['1', '3']);
    expect(again).toMatchObject({ indexes: [1, 3], again: true, path: '0' });
    expect(again.id).not.toBe(whole.id);
  });
});
