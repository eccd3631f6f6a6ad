import { expect, it } from 'vitest';
import { describeKinds, destinationKinds } from '../support/destinations/destination-kinds.ts';
import { startTcpProxy } from '../support/service/tcp-proxy.ts';
import { batchOf, claimOf, columnOf, receiptOf, rowOf } from '../support/sync/batches.ts';
import { openAnew } from '../support/sync/deliver.ts';

describeKinds(destinationKinds, '', (kind) => {
  it('clears a mark of deletion when the record comes back', async () => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    await destination.open(claimOf(place.schema));
    await destination.apply(batchOf([rowOf('1')]));
    await place.execute(`update "${place.schema}".items set _deleted_at = _synced_at`);
    await destination.apply(batchOf([rowOf('1')], { batchNo: 2 }));
    expect(await place.rows('items')).toMatchObject([{ _external_id: '1', _deleted_at: null }]);
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

  it('stores of 1,000 records those whose key is free, and names the 100 whose key other records have', async () => {
    await using place = await kind.createPlace();
    const rows = Array.from({ length: 1000 }, (_, n) => rowOf(`r${String(n).padStart(3, '0')}`, { n }));
    const taken = rows.filter((_, n) => n % 10 === 3);
    await openAnew(place, { lane: 'con_2/items', connectionId: 'con_2', rows: taken });
    await place.execute(`create unique index one_id on "${place.schema}".items (_external_id)`);
    await using destination = place.connect();
    await destination.open(claimOf(place.schema));
    const rejected = await destination.apply(batchOf(rows));
    expect(rejected.map(({ externalId }) => externalId)).toEqual(taken.map(({ externalId }) => externalId));
    expect(rejected[0]?.message).toContain('one_id');
    expect(await place.rows('items')).toHaveLength(1000);
  });

  it('writes columns whose names have capitals, those of new fields too, at every open', async () => {
    await using place = await kind.createPlace();
    for (const fence of [1, 2]) {
      await using destination = place.connect();
      await destination.open(claimOf(place.schema, { fence, columns: [columnOf('firstName', 'text')] }));
      const rows = [rowOf('1', { firstName: `Ada ${fence}`, lastName: 'King' })];
      expect(await destination.apply(batchOf(rows, { batchNo: fence }))).toEqual([]);
    }
    expect(await place.rows('items')).toMatchObject([{ firstName: 'Ada 2', lastName: 'King' }]);
  });

  it('stores a row of 400 numbers', async () => {
    await using place = await kind.createPlace();
    await using destination = place.connect();
    const columns = Array.from({ length: 400 }, (_, n) => columnOf(`n${n}`, 'numeric'));
    await destination.open(claimOf(place.schema, { columns }));
    const data = Object.fromEntries(columns.map(({ name }, n) => [name, `12345678901234.${1000 + n}`]));
    expect(await destination.apply(batchOf([rowOf('1', data)]))).toEqual([]);
    expect(await place.rows('items')).toMatchObject([data]);
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

  it('is unavailable while its server is down, and takes what it is given once that is up', async () => {
    await using place = await kind.createPlace();
    const { host } = place;
    const down = await startTcpProxy(place.port, { host });
    const { port: listenAt } = down;
    await down[Symbol.asyncDispose]();
    await using destination = place.connect({ port: listenAt });
    const claim = claimOf(place.schema);
    await expect(destination.open(claim)).rejects.toMatchObject({ code: 'destination_unavailable' });
    await using _up = await startTcpProxy(place.port, { host, listenAt });
    expect(await destination.open(claim)).toEqual({ fresh: true, checkpoint: null });
    expect(await destination.apply(batchOf([rowOf('1')]))).toEqual([]);
    expect(await place.rows('items')).toHaveLength(1);
  });

  it('finds the receipt of a batch whose response was lost after the commit', async () => {
    await using place = await kind.createPlace();
    await using proxy = await startTcpProxy(place.port, { host: place.host });
    await using destination = place.connect({ port: proxy.port });
    await destination.open(claimOf(place.schema));
    proxy.cutNextResponse(place.commitMark);
    await expect(destination.apply(batchOf([rowOf('1')]))).rejects.toMatchObject({ code: 'destination_unavailable' });
    await using next = place.connect();
    expect(await next.open(claimOf(place.schema, { fence: 2 }))).toMatchObject({
      checkpoint: { runId: 'run_1', batchNo: 1 },
    });
    expect(await place.rows('items')).toHaveLength(1);
  });
});
