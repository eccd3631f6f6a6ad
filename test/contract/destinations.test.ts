import { describe, expect, it } from 'vitest';
import { batchOf, claimOf, columnOf, receiptOf, rowOf } from '../support/batches.ts';
import type { Place } from '../support/destination-kind.ts';
import { destinationKinds } from '../support/destination-kinds.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

type Opening = Parameters<typeof claimOf>[1] & { readonly rows?: Parameters<typeof batchOf>[0] };

/** An attempt of its own: opens, applies the rows if there are any to apply, ends. True: the lane was new. */
async function openAnew(place: Place, { rows, ...claim }: Opening): Promise<boolean> {
  await using destination = place.connect();
  const { fresh, checkpoint } = await destination.open(claimOf(place.schema, claim));
  if (rows) await destination.apply(batchOf(rows, { batchNo: (checkpoint?.batchNo ?? 0) + 1 }));
  return fresh;
}

describe.each(destinationKinds)('$name', (kind) => {
  it('creates schema, table and checkpoint, and says that the lane is new', async () => {
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

  it('clears a mark of deletion when the record comes back', async () => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema));
    await destination.apply(batchOf([rowOf('1')]));
    await place.execute(`update "${place.schema}".items set _deleted_at = _synced_at`);
    await destination.apply(batchOf([rowOf('1')], { batchNo: 2 }));
    expect(await place.rows('items')).toMatchObject([{ _external_id: '1', _deleted_at: null }]);
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

  it('gives new fields a column by the values of the batch, and none to fields that are null throughout', async () => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema));
    const rows = [
      rowOf('1', { s: 'a', i: 1, f: 1, b: true, o: { x: 1 }, l: [1], n: null }),
      rowOf('2', { s: null, i: 2, f: 1.5, b: false, o: null, l: [], n: null }),
    ];
    expect(await destination.apply(batchOf(rows))).toEqual([]);
    expect(await place.rows('items')).toMatchObject([
      { s: 'a', i: '1', f: '1', b: 'true', o: '{"x": 1}', l: '[1]' },
      { s: null, i: '2', f: '1.5', b: 'false', o: null, l: '[]' },
    ]);
    expect(await place.columnTypes('items')).not.toHaveProperty('n');
  });

  it('drops new fields when the table must not evolve', async () => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { columns: [columnOf('a', 'text')], evolve: 'none' }));
    expect(await destination.apply(batchOf([rowOf('1', { a: 'kept', b: 'dropped', 'no name': 1 })]))).toEqual([]);
    expect(await place.rows('items')).toMatchObject([{ a: 'kept' }]);
    expect(await place.columnTypes('items')).not.toHaveProperty('b');
  });

  it('adds columns that a later version of the spec names', async () => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema));
    await destination.open(claimOf(place.schema, { fence: 2, columns: [columnOf('late', 'date')] }));
    await destination.apply(batchOf([rowOf('1', { late: '2026-01-01' })]));
    expect(await place.rows('items')).toMatchObject([{ late: '2026-01-01' }]);
  });

  it.each(['a b', 'a"; drop table items; --', 'x'.repeat(64), '1st', '_RUN_ID', 'ctid', '', 'ä', 'constructor'])(
    'rejects only the records with a field that cannot name a column: %j',
    async (name) => {
      await using place = await kind.createPlace();
      await using destination = place.connect();
      await destination.open(claimOf(place.schema));
      const rejected = await destination.apply(
        batchOf([rowOf('1', { [name]: 1 }), rowOf('2', { ok: 1, [name]: null })]),
      );
      expect(rejected).toMatchObject([{ externalId: '1', message: expect.stringContaining('cannot name a column') }]);
      expect(await place.rows('items')).toMatchObject([{ _external_id: '2', ok: '1' }]);
    },
  );

  it('never makes two columns whose names differ only in case', async () => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { columns: [columnOf('Name', 'text')] }));
    const rejected = await destination.apply(batchOf([rowOf('1', { name: 'x' }), rowOf('2', { a: 1, A: 2 })]));
    expect(rejected.map(({ externalId }) => externalId)).toEqual(['1', '2']);
    await expect(
      destination.open(claimOf(place.schema, { fence: 2, columns: [columnOf('NAME', 'text')] })),
    ).rejects.toMatchObject({ code: 'destination_rejected' });
  });

  it.each([
    { table: 'a"b' },
    { table: 'pg_class' },
    { table: '_CSS_checkpoint' },
    { columns: [columnOf('_run_id', 'text')] },
  ])('refuses hostile names before it changes anything: %j', async (overrides) => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    await expect(destination.open(claimOf(place.schema, overrides))).rejects.toMatchObject({
      code: 'destination_rejected',
    });
    await expect(place.execute(`create table "${place.schema}".x (a int)`)).rejects.toThrow(/does not exist/);
  });

  it('stores the records that a constraint of the customer lets through, and names the others in the receipt', async () => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { columns: [columnOf('n', 'bigint')] }));
    await place.execute(`alter table "${place.schema}".items add constraint small check (n < 100)`);
    const rows = Array.from({ length: 50 }, (_, n) => rowOf(String(n), { n: n % 17 === 3 ? 4711 : n }));
    const rejected = await destination.apply(batchOf([...rows, rowOf('word', { n: 'x' })]));
    expect(rejected.map(({ externalId }) => externalId)).toEqual(['word', '3', '20', '37']);
    expect(rejected[1]?.message).toContain('small');
    expect(rejected[1]?.message).not.toContain('4711');
    expect(await place.rows('items')).toHaveLength(47);
    expect(await destination.open(claimOf(place.schema, { fence: 2 }))).toMatchObject({
      checkpoint: { receipt: receiptOf(rejected) },
    });
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

  it('calls a lane new again after its table was dropped, until a batch is applied to the new one', async () => {
    await using place = await kind.createPlace();
    await openAnew(place, { fence: 1, rows: [rowOf('1')] });
    await place.execute(`drop table "${place.schema}".items`);
    expect(await openAnew(place, { fence: 2 })).toBe(true);
    expect(await openAnew(place, { fence: 3, rows: [rowOf('1')] })).toBe(true);
    expect(await openAnew(place, { fence: 4 })).toBe(false);
    expect(await place.rows('items')).toHaveLength(1);
  });

  it('calls every lane of a table new that was dropped, whichever of them makes it again', async () => {
    await using place = await kind.createPlace();
    const lanes = ['con_1', 'con_2'].map((connectionId) => ({ connectionId, lane: `${connectionId}/items` }));
    for (const lane of lanes) await openAnew(place, { ...lane, fence: 1, rows: [rowOf('1')] });
    await place.execute(`drop table "${place.schema}".items`);
    const fresh = await Promise.all(lanes.map((lane) => openAnew(place, { ...lane, fence: 2, rows: [rowOf('1')] })));
    expect(fresh).toEqual([true, true]);
    expect(await place.rows('items')).toHaveLength(2);
    expect(await openAnew(place, { fence: 3 })).toBe(false);
  });

  it('calls a lane new whose target became another table, though others write there already', async () => {
    await using place = await kind.createPlace();
    await openAnew(place, { fence: 1, rows: [rowOf('1')] });
    await openAnew(place, { lane: 'con_2/items', connectionId: 'con_2', table: 'others', rows: [rowOf('1')] });
    expect(await openAnew(place, { fence: 2, table: 'others' })).toBe(true);
  });

  it('says of a table that is dropped while a lane is held that it is new, at the next open', async () => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema));
    await destination.apply(batchOf([rowOf('1')]));
    await place.execute(`drop table "${place.schema}".items`);
    await openAnew(place, { lane: 'con_2/items', connectionId: 'con_2' });
    await destination.apply(batchOf([rowOf('2')], { batchNo: 2 }));
    expect(await openAnew(place, { fence: 2 })).toBe(true);
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

  it('leaves nothing of a batch whose connection the server ends, and goes on after a new open', async () => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema, { columns: [columnOf('a', 'text')] }));
    await place.whileLocked('con_1/items', async () => {
      const applied = destination.apply(batchOf([rowOf('1', { a: 'x' })]));
      await Promise.all([
        expect(applied).rejects.toMatchObject({ code: 'destination_unavailable' }),
        place.killWaiting(),
      ]);
    });
    await expect(destination.apply(batchOf([rowOf('1')]))).rejects.toMatchObject({ code: 'destination_unavailable' });
    expect(await destination.open(claimOf(place.schema, { fence: 2 }))).toEqual({ fresh: true, checkpoint: null });
    expect(await destination.apply(batchOf([rowOf('1')]))).toEqual([]);
    expect(await place.rows('items')).toHaveLength(1);
  });

  it('finds the receipt of a batch whose answer was lost after the commit', async () => {
    await using place = await kind.createPlace();
    await using proxy = await startTcpProxy(place.port);
    await using destination = place.connect({ port: proxy.port });
    await destination.open(claimOf(place.schema));
    proxy.cutNextAnswer();
    await expect(destination.apply(batchOf([rowOf('1')]))).rejects.toMatchObject({ code: 'destination_unavailable' });
    await using next = place.connect();
    expect(await next.open(claimOf(place.schema, { fence: 2 }))).toMatchObject({
      checkpoint: { runId: 'run_1', batchNo: 1 },
    });
    expect(await place.rows('items')).toHaveLength(1);
  });
});
