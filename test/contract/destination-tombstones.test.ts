import { expect, it } from 'vitest';
import { describeKinds, destinationKinds } from '../support/destinations/destination-kinds.ts';
import { batchOf, claimOf, rememberedColumns, rowOf } from '../support/sync/batches.ts';
import { deliver, itemValues, seedRows } from '../support/sync/deliver.ts';

describeKinds(destinationKinds, ' and records that are gone', (kind) => {
  it('in mode update leaves the rows to their owner, and empties the columns that the resource has written', async () => {
    await using place = await kind.createPlace();
    await seedRows(place, { mode: 'update' });
    const written = rememberedColumns();
    const lane = { mode: 'update', written } as const;
    await deliver(place, lane, { rows: ['1', '2', '3'].map((id) => rowOf(id, { score: Number(id), note: 'n' })) });
    await deliver(
      place,
      { ...lane, fence: 2 },
      {
        runId: 'run_2',
        rows: [rowOf('1', { score: 9 })],
        tombstones: [
          { externalId: '2', effect: 'soft' },
          { externalId: '3', effect: 'hard' },
          { externalId: 'never there', effect: 'hard' },
        ],
      },
    );
    expect(await place.rows('items')).toMatchObject([
      { _external_id: '1', owned: 'x', score: '9', note: 'n', _deleted_at: null },
      { _external_id: '2', owned: 'x', score: null, note: null, _deleted_at: null, _run_id: 'run_2' },
      { _external_id: '3', owned: 'x', score: null, note: null, _deleted_at: null, _run_id: 'run_2' },
    ]);
  });

  it('marks the row or removes it, with the others', async () => {
    await using place = await kind.createPlace();
    await seedRows(place, { mode: 'update' });
    await deliver(
      place,
      { lane: 'con_1/owner', fence: 2 },
      {
        runId: 'run_2',
        rows: [rowOf('1', { a: 'new' })],
        tombstones: [
          { externalId: '2', effect: 'soft' },
          { externalId: '3', effect: 'hard' },
          { externalId: 'never there', effect: 'soft' },
          { externalId: 'no text: \0', effect: 'hard' },
        ],
      },
    );
    const rows = await place.rows('items');
    expect(rows).toMatchObject([
      { _external_id: '1', a: 'new', _deleted_at: null },
      { _external_id: '2', owned: 'x', _run_id: 'run_2', _deleted_at: expect.any(String) },
    ]);
    expect(rows[1]?.['_deleted_at']).toBe(rows[1]?.['_synced_at']);
  });

  it.each(['upsert', 'append'] as const)('mode %s says which rows of its connection are left', async (mode) => {
    await using place = await kind.createPlace();
    await deliver(place, { mode }, { rows: ['b', 'a', 'c', 'd'].map((id) => rowOf(id)) });
    await deliver(place, { mode, fence: 2, lane: 'con_2/items', connectionId: 'con_2' }, { rows: [rowOf('other')] });
    const tombstones = [{ externalId: 'c', effect: 'soft' }] as const;
    await deliver(place, { mode, fence: 3 }, { runId: 'run_2', rows: [rowOf('a')], tombstones });
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { mode, fence: 4, generation: 'next' }));
    const first = await destination.leftovers?.({ after: null, limit: 2 });
    expect(first).toEqual(['a', 'b']);
    expect(await destination.leftovers?.({ after: 'b', limit: 2 })).toEqual(['d']);
  });

  it('leaves the mark of a row that is marked already', async () => {
    await using place = await kind.createPlace();
    await deliver(place, {}, { rows: [rowOf('1')] });
    const tombstones = [{ externalId: '1', effect: 'soft' }] as const;
    await deliver(place, { fence: 2 }, { tombstones });
    const before = await place.rows('items');
    await deliver(place, { fence: 3 }, { runId: 'run_2', tombstones });
    expect(await place.rows('items')).toEqual(before);
  });

  it('clears the mark when the record comes back', async () => {
    await using place = await kind.createPlace();
    await deliver(place, {}, { rows: [rowOf('1')] });
    await deliver(place, { fence: 2 }, { tombstones: [{ externalId: '1', effect: 'soft' }] });
    await deliver(place, { fence: 3 }, { rows: [rowOf('1')] });
    expect(await place.rows('items')).toMatchObject([{ _deleted_at: null }]);
  });

  it('mode append marks every version, or removes them all', async () => {
    await using place = await kind.createPlace();
    const mode = 'append';
    await deliver(place, { mode }, { rows: ['1', '1', '2', '3'].map((id) => rowOf(id)) });
    await deliver(
      place,
      { mode, fence: 2 },
      {
        runId: 'run_2',
        tombstones: [
          { externalId: '1', effect: 'soft' },
          { externalId: '2', effect: 'hard' },
        ],
      },
    );
    expect(await place.rows('items')).toMatchObject([
      { _external_id: '1', _run_id: 'run_1', _deleted_at: expect.any(String) },
      { _external_id: '1', _run_id: 'run_1', _deleted_at: expect.any(String) },
      { _external_id: '3', _deleted_at: null },
    ]);
  });

  it('mode append marks the versions of the same batch too', async () => {
    await using place = await kind.createPlace();
    const tombstones = [{ externalId: '1', effect: 'soft' }] as const;
    await deliver(place, { mode: 'append' }, { rows: [rowOf('1'), rowOf('1'), rowOf('2')], tombstones });
    expect(await itemValues(place, '_deleted_at')).toEqual([
      expect.not.stringContaining('null'),
      expect.not.stringContaining('null'),
      '2 null',
    ]);
  });

  it('mode replace does it in the next generation', async () => {
    await using place = await kind.createPlace();
    const mode = 'replace';
    await deliver(place, { mode }, { rows: ['1', '2', '3'].map((id) => rowOf(id)) });
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { mode, fence: 2 }));
    await destination.apply(batchOf([rowOf('1'), rowOf('2')], { runId: 'run_2' }));
    const tombstones = [
      { externalId: '1', effect: 'soft' },
      { externalId: '2', effect: 'hard' },
    ] as const;
    await destination.apply(batchOf([], { runId: 'run_2', batchNo: 2, tombstones }));
    expect(await itemValues(place, '_deleted_at')).toEqual(['1 null', '2 null', '3 null']);
    await destination.apply(batchOf([], { runId: 'run_2', batchNo: 3, completesGeneration: true }));
    expect(await place.rows('items')).toMatchObject([{ _external_id: '1', _deleted_at: expect.any(String) }]);
  });

  it('nothing of a batch is written when a row that must go is kept by a constraint', async () => {
    await using place = await kind.createPlace();
    await deliver(place, {}, { rows: [rowOf('1', { a: 'old' })] });
    await place.execute(`create table "${place.schema}".refs (c ${place.keyTypes.connectionId}, e ${place.keyTypes.externalId},
        constraint still_used foreign key (c, e) references "${place.schema}".items (_connection_id, _external_id))`);
    await place.execute(`insert into "${place.schema}".refs values ('con_1', '1')`);
    const gone = deliver(
      place,
      { fence: 2 },
      {
        rows: [rowOf('2')],
        tombstones: [{ externalId: '1', effect: 'hard' }],
      },
    );
    await expect(gone).rejects.toMatchObject({
      code: 'destination_rejected',
      message: expect.stringContaining('still_used'),
    });
    expect(await itemValues(place, 'a')).toEqual(['1 old']);
  });
});
