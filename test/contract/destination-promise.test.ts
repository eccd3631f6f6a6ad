/** What every kind of destination promises, also one that has no tables. */
import { expect, it } from 'vitest';
import { describeKinds, promisingKinds } from '../support/destinations/destination-kinds.ts';
import { batchOf, claimOf, columnOf, receiptOf, rowOf } from '../support/sync/batches.ts';
import { openAnew } from '../support/sync/deliver.ts';

describeKinds(promisingKinds, '', (kind) => {
  it('says that a lane is new that nothing was delivered to', async () => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    expect(await destination.open(claimOf(place.schema))).toEqual({ fresh: true, checkpoint: null });
    expect(await place.rows('items')).toEqual([]);
  });

  it('applies 5,000 rows in one batch', async () => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { columns: [columnOf('n', 'bigint')] }));
    const rows = Array.from({ length: 5000 }, (_, n) => rowOf(String(n), { n, extra: `x${n}` }));
    expect(await destination.apply(batchOf(rows))).toEqual([]);
    expect(await place.rows('items')).toHaveLength(5000);
  });

  it('keeps one row per record: written again it is updated, and fields that are gone become null', async () => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { columns: [columnOf('a', 'text')] }));
    await destination.apply(batchOf([rowOf('1', { a: 'old', b: 'appeared' })]));
    await destination.apply(batchOf([rowOf('1', { c: 7 })], { batchNo: 2, runId: 'run_2' }));
    expect(await place.rows('items')).toMatchObject([
      { _external_id: '1', _run_id: 'run_2', a: null, b: null, c: '7' },
    ]);
  });

  it('applies a batch that was prepared while the previous one was being delivered, even if that one added columns', async () => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { columns: [columnOf('a', 'text')] }));
    const first = batchOf([rowOf('1', { a: 'x', grown: 7 })]);
    const second = batchOf([rowOf('1', { a: 'y' }), rowOf('2', { a: 'z' })], { batchNo: 2 });
    const third = batchOf([rowOf('2', { a: 'late', grown: 8 })], { batchNo: 3 });
    destination.prepare(first);
    const applied = destination.apply(first);
    destination.prepare(second);
    await applied;
    await destination.apply(second);
    destination.prepare(third);
    destination.prepare(batchOf([rowOf('3')], { batchNo: 3 }));
    await destination.apply(third);
    expect(await place.rows('items')).toMatchObject([
      { _external_id: '1', a: 'y', grown: null },
      { _external_id: '2', a: 'late', grown: '8' },
    ]);
  });

  it('writes what the lane knows nothing of over rows that are there all the same', async () => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { columns: [columnOf('a', 'text')] }));
    await destination.apply(batchOf([rowOf('1', { a: 'x' })], { allNew: true }));
    for (const [batchNo, a] of ['y', 'z'].entries()) {
      const rows = [rowOf(`new ${batchNo}`, { a }), rowOf('1', { a })];
      expect(await destination.apply(batchOf(rows, { batchNo: batchNo + 2, allNew: true }))).toEqual([]);
    }
    expect((await place.rows('items')).map((row) => `${row['_external_id']} ${row['a']}`)).toEqual([
      '1 z',
      'new 0 y',
      'new 1 z',
    ]);
  });

  it('keeps the same record id of two connections apart', async () => {
    await using place = await kind.createPlace();
    for (const connectionId of ['con_1', 'con_2']) {
      await using destination = place.connect();
      await destination.open(claimOf(place.schema, { connectionId, lane: `${connectionId}/items` }));
      await destination.apply(batchOf([rowOf('1', { from: connectionId })]));
    }
    const rows = await place.rows('items');
    const origins = rows.map((row) => `${row['_connection_id']} ${row['from']}`);
    expect(new Set(origins)).toEqual(new Set(['con_1 con_1', 'con_2 con_2']));
  });

  it('hands the last receipt to whoever opens the lane next', async () => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema));
    await destination.apply(batchOf([rowOf('1')]));
    await destination.apply(batchOf([], { batchNo: 2 }));
    await using next = place.connect();
    const checkpoint = { runId: 'run_1', batchNo: 2, receipt: receiptOf([]) };
    expect(await next.open(claimOf(place.schema, { fence: 2 }))).toEqual({ fresh: false, checkpoint });
  });

  it.each([
    ['rows', [rowOf('1')]],
    ['no rows', []],
  ])('calls a lane new until a batch is applied, be it of %s, whoever dies before', async (_, rows) => {
    await using place = await kind.createPlace();
    expect(await openAnew(place, { fence: 1 })).toBe(true);
    expect(await openAnew(place, { fence: 2 })).toBe(true);
    expect(await openAnew(place, { fence: 3, rows })).toBe(true);
    expect(await openAnew(place, { fence: 4 })).toBe(false);
  });

  it('calls a lane of another generation new until a batch of it is applied, and no former one known', async () => {
    await using place = await kind.createPlace();
    const rows = [rowOf('1')];
    const one = { generation: 'one' };
    expect(await openAnew(place, { ...one, fence: 1, rows })).toBe(true);
    expect(await openAnew(place, { ...one, fence: 2 })).toBe(false);
    await using destination = place.connect();
    for (const generation of ['two', 'three'])
      expect(await destination.open(claimOf(place.schema, { fence: 3, generation }))).toMatchObject({ fresh: true });
    await destination.apply(batchOf(rows, { runId: 'run_2' }));
    expect(await openAnew(place, { fence: 4, generation: 'three' })).toBe(false);
    expect(await openAnew(place, { ...one, fence: 5 })).toBe(true);
  });

  it('says what is left of the rows of its connection, if it keeps any', async () => {
    await using place = await kind.createPlace();
    await openAnew(place, { fence: 1, rows: ['c', 'a', 'b'].map((id) => rowOf(id)) });
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { fence: 2, generation: 'next' }));
    if (!destination.leftovers) return;
    expect(await destination.leftovers({ after: null, limit: 2 })).toEqual(['a', 'b']);
    expect(await destination.leftovers({ after: 'b', limit: 2 })).toEqual(['c']);
  });

  it('applies no batch of a run twice', async () => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema));
    await destination.apply(batchOf([rowOf('1', { a: 'first' })]));
    await expect(destination.apply(batchOf([rowOf('1', { a: 'again' })]))).rejects.toMatchObject({ code: 'fenced' });
    expect(await place.rows('items')).toMatchObject([{ a: 'first' }]);
  });

  it('lets an older attempt neither write nor open once a later one holds the lane', async () => {
    await using place = await kind.createPlace();
    await using older = place.connect();
    await using later = place.connect();
    await older.open(claimOf(place.schema, { fence: 7 }));
    await later.open(claimOf(place.schema, { fence: 8 }));
    await expect(older.apply(batchOf([rowOf('1')]))).rejects.toMatchObject({ code: 'fenced' });
    await expect(older.apply(batchOf([rowOf('1', { n: 1 }), rowOf('2', { n: 'x' })]))).rejects.toMatchObject({
      code: 'fenced',
    });
    await expect(older.open(claimOf(place.schema, { fence: 7 }))).rejects.toMatchObject({ code: 'fenced' });
    expect(await place.rows('items')).toEqual([]);
    await later.apply(batchOf([rowOf('1')]));
    expect(await place.rows('items')).toHaveLength(1);
  });

  it('lets lanes that create the same table at once all succeed', async () => {
    await using place = await kind.createPlace();
    const lanes = Array.from({ length: 8 }, (_, index) => ({ index, destination: place.connect() }));
    await Promise.all(
      lanes.map(async ({ index, destination }) => {
        const lane = `con_${index}/items`;
        await destination.open(claimOf(place.schema, { lane, connectionId: lane, columns: [columnOf('a', 'text')] }));
        await destination.apply(batchOf([rowOf('1', { a: 'x', grown: index })]));
        await destination[Symbol.asyncDispose]();
      }),
    );
    expect(await place.rows('items')).toHaveLength(8);
  });
});
