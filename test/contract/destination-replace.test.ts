import { expect, it } from 'vitest';
import { describeKinds, destinationKinds } from '../support/destinations/destination-kinds.ts';
import { batchOf, claimOf, rememberedColumns, rowOf } from '../support/sync/batches.ts';
import { deliver, itemValues } from '../support/sync/deliver.ts';

describeKinds(destinationKinds, ' in mode replace', (kind) => {
  const mode = 'replace';

  it('lets readers see the rows of the earlier run until the last batch, then only those of the new one', async () => {
    await using place = await kind.createPlace();
    const written = rememberedColumns();
    const rows = ['1', '2', '3'].map((id) => rowOf(id, { a: 'old', gone: 'old' }));
    await deliver(place, { mode, written }, { rows });
    const before = await place.rows('items');
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { mode, written, fence: 2 }));
    await destination.apply(batchOf([rowOf('2', { a: 'new' })], { runId: 'run_2' }));
    await destination.apply(
      batchOf([rowOf('2', { a: 'newer' }), rowOf('4', { grown: 1 })], { runId: 'run_2', batchNo: 2 }),
    );
    const during = await place.rows('items');
    expect(during).toEqual(before.map((row) => ({ ...row, grown: null })));
    await destination.apply(batchOf([rowOf('5')], { runId: 'run_2', batchNo: 3, completesGeneration: true }));
    expect(await place.rows('items')).toMatchObject([
      { _external_id: '2', _run_id: 'run_2', a: 'newer', gone: null, grown: null },
      { _external_id: '4', _run_id: 'run_2', a: null, grown: '1' },
      { _external_id: '5', _run_id: 'run_2' },
    ]);
  });

  it('touches no column but its own, and no row that stays: what refers to it is there afterwards', async () => {
    await using place = await kind.createPlace();
    const written = rememberedColumns();
    const rows = ['1', '2', '3'].map((id) => rowOf(id, { a: 'old' }));
    await deliver(place, { mode, written }, { rows });
    const scores = ['1', '2', '3'].map((id) => rowOf(id, { score: Number(id) * 10 }));
    await deliver(place, { mode: 'update', lane: 'con_1/scores' }, { rows: scores });
    await place.execute(`create table "${place.schema}".refs (c ${place.keyTypes.connectionId}, e ${place.keyTypes.externalId},
        foreign key (c, e) references "${place.schema}".items (_connection_id, _external_id) on delete cascade)`);
    for (const id of ['1', '2']) await place.execute(`insert into "${place.schema}".refs values ('con_1', '${id}')`);
    const next = ['2', '3', '4'].map((id) => rowOf(id, { a: 'new' }));
    await deliver(place, { mode, written, fence: 2 }, { runId: 'run_2', rows: next });
    expect(await place.rows('items')).toMatchObject([
      { _external_id: '2', a: 'new', score: '20', _run_id: 'run_2' },
      { _external_id: '3', a: 'new', score: '30', _run_id: 'run_2' },
      { _external_id: '4', a: 'new', score: null, _run_id: 'run_2' },
    ]);
    await place.execute(`delete from "${place.schema}".items where _external_id = '3'`);
    await deliver(place, { mode, written, fence: 3 }, { runId: 'run_3', rows: next });
    expect(await itemValues(place, 'score')).toEqual(['2 20', '3 null', '4 null']);
    await place.execute(`alter table "${place.schema}".refs add _external_id ${place.keyTypes.externalId}`);
    expect((await place.rows('refs')).map(({ e }) => e)).toEqual(['2']);
  });

  it('switches at one moment for whoever reads meanwhile', async () => {
    await using place = await kind.createPlace();
    const rowsOf = (n: number) => Array.from({ length: n }, (_, index) => rowOf(String(index), { a: 'x' }));
    await deliver(place, { mode }, { rows: rowsOf(2000) });
    let isDone = false;
    const switched = deliver(place, { mode, fence: 2 }, { runId: 'run_2', rows: rowsOf(3000) }).finally(() => {
      isDone = true;
    });
    const seen: string[] = [];
    do {
      const rows = await place.rows('items');
      seen.push(`${[...new Set(rows.map((row) => row['_run_id']))].join()} ${rows.length}`);
    } while (!isDone);
    await switched;
    expect(seen.filter((rows) => rows !== 'run_1 2000' && rows !== 'run_2 3000')).toEqual([]);
    expect(await place.rows('items')).toHaveLength(3000);
  });

  it('never shows what a run gathered that did not complete, nor mixes it with the next', async () => {
    await using place = await kind.createPlace();
    await deliver(place, { mode }, { rows: [rowOf('1')] });
    await deliver(place, { mode, fence: 2 }, { runId: 'run_2', rows: [rowOf('2')], completesGeneration: false });
    expect(await itemValues(place, '_run_id')).toEqual(['1 run_1']);
    await deliver(place, { mode, fence: 3 }, { runId: 'run_3', rows: [rowOf('3')], completesGeneration: false });
    await deliver(place, { mode, fence: 4 }, { runId: 'run_3', rows: [rowOf('4')] });
    expect(await itemValues(place, '_run_id')).toEqual(['3 run_3', '4 run_3']);
  });

  it('keeps what was gathered when the connection is lost in the last batch', async () => {
    await using place = await kind.createPlace();
    await deliver(place, { mode }, { rows: [rowOf('1')] });
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { mode, fence: 2 }));
    await destination.apply(batchOf([rowOf('2')], { runId: 'run_2' }));
    const last = batchOf([rowOf('3')], { runId: 'run_2', batchNo: 2, completesGeneration: true });
    await place.whileLocked('con_1/items', async () => {
      await Promise.all([
        expect(destination.apply(last)).rejects.toMatchObject({ code: 'destination_unavailable' }),
        place.killWaiting(),
      ]);
    });
    expect(await itemValues(place, '_run_id')).toEqual(['1 run_1']);
    await destination.open(claimOf(place.schema, { mode, fence: 3 }));
    await destination.apply(last);
    expect(await itemValues(place, '_run_id')).toEqual(['2 run_2', '3 run_2']);
  });

  it('empties the table of a connection whose complete read brought nothing', async () => {
    await using place = await kind.createPlace();
    await deliver(place, { mode }, { rows: [rowOf('1')] });
    await deliver(place, { mode, fence: 2 }, { runId: 'run_2' });
    expect(await place.rows('items')).toEqual([]);
  });

  it('takes over a table of mode upsert, and gives it back', async () => {
    await using place = await kind.createPlace();
    await deliver(place, {}, { rows: [rowOf('1', { a: 'x' }), rowOf('2')] });
    await deliver(place, { mode, fence: 2 }, { runId: 'run_2', rows: [rowOf('1', { a: 'y' })] });
    expect(await itemValues(place, 'a')).toEqual(['1 y']);
    await deliver(place, { fence: 3 }, { runId: 'run_3', rows: [rowOf('2', { a: 'z' })] });
    expect(await itemValues(place, 'a')).toEqual(['1 y', '2 z']);
  });
});
