import { expect, it } from 'vitest';
import { describeKinds, rowKinds } from '../support/destinations/destination-kinds.ts';
import { columnOf, rememberedColumns, rowOf } from '../support/sync/batches.ts';
import { deliver, itemValues } from '../support/sync/deliver.ts';

describeKinds(rowKinds, ': the columns that a lane writes', (kind) => {
  it('are those that it has ever written, whatever the other records of a batch and the catalogue say', async () => {
    await using place = await kind.createPlace();
    const written = rememberedColumns();
    await deliver(place, { written }, { rows: [rowOf('1', { note: 'x' }), rowOf('2', { note: 'y' })] });
    expect(await written.find()).toEqual(['note']);
    await deliver(place, { written, fence: 2 }, { runId: 'run_2', rows: [rowOf('1', {}), rowOf('2', { note: null })] });
    expect(await itemValues(place, 'note')).toEqual(['1 null', '2 null']);
  });

  it('are also those that the spec named once', async () => {
    await using place = await kind.createPlace();
    const written = rememberedColumns();
    const columns = [columnOf('note', 'text'), columnOf('never', 'text')];
    await deliver(place, { written, columns }, { rows: [rowOf('1', { note: 'x' })] });
    await deliver(place, { written, fence: 2 }, { runId: 'run_2', rows: [rowOf('1', {})] });
    expect(await itemValues(place, 'note')).toEqual(['1 null']);
  });

  it('grow by a null that a record gives where a column is there, and by no column that it does not give', async () => {
    await using place = await kind.createPlace();
    const owner = { lane: 'con_1/other', columns: [columnOf('own', 'text'), columnOf('left', 'text')] };
    await deliver(place, owner, { rows: [rowOf('1', { own: 'x', left: 'x' }), rowOf('2', { own: 'y', left: 'y' })] });
    const written = rememberedColumns([]);
    await deliver(place, { written, evolve: 'none' }, { rows: [rowOf('1', { own: null, nowhere: null })] });
    expect(await itemValues(place, 'own')).toEqual(['1 null', '2 y']);
    expect(await itemValues(place, 'left')).toEqual(['1 x', '2 y']);
    expect(await written.find()).toEqual(['own']);
    expect((await place.rows('items'))[0]).not.toHaveProperty('nowhere');
  });

  it('are noted before a batch fills them, and nothing is written where they cannot be noted', async () => {
    await using place = await kind.createPlace();
    const written = { find: async () => [], add: () => Promise.reject(new Error('the ledger is away')) };
    await expect(deliver(place, { written }, { rows: [rowOf('1', { note: 'x' })] })).rejects.toThrow(
      'the ledger is away',
    );
    expect(await place.rows('items')).toEqual([]);
  });
});
