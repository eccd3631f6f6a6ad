import { describe, expect, it } from 'vitest';
import type { WriteMode } from '../../src/core/destinations/destination.ts';
import { describeKinds, destinationKinds } from '../support/destinations/destination-kinds.ts';
import { startTcpProxy } from '../support/service/tcp-proxy.ts';
import { batchOf, claimOf, columnOf, rememberedColumns, rowOf } from '../support/sync/batches.ts';
import { deliver, itemValues, seedRows } from '../support/sync/deliver.ts';

const modes: readonly WriteMode[] = ['upsert', 'append', 'update', 'replace'];

describeKinds(destinationKinds, '', (kind) => {
  describe.each(modes)('in mode %s', (mode) => {
    const completesGeneration = mode === 'replace';

    it('applies no batch of a run twice', async () => {
      await using place = await kind.createPlace();
      await seedRows(place, { mode });
      await using destination = place.connect();
      await destination.open(claimOf(place.schema, { mode, columns: [columnOf('a', 'text')] }));
      await destination.apply(batchOf([rowOf('1', { a: 'first' })], { completesGeneration }));
      const before = await place.rows('items');
      const again = batchOf([rowOf('1', { a: 'again' })], {
        completesGeneration,
        tombstones: [{ externalId: '2', effect: 'hard' }],
      });
      await expect(destination.apply(again)).rejects.toMatchObject({ code: 'fenced' });
      expect(before).toContainEqual(expect.objectContaining({ _external_id: '1', a: 'first' }));
      expect(await place.rows('items')).toEqual(before);
    });

    it('finds the receipt of a batch whose response was lost after the commit', async () => {
      await using place = await kind.createPlace();
      await seedRows(place, { mode });
      await using proxy = await startTcpProxy(place.port, { host: place.host });
      await using destination = place.connect({ port: proxy.port });
      const written = rememberedColumns();
      await destination.open(claimOf(place.schema, { mode, written }));
      // A generation begins with several statements, so the response to cut is that of its second batch.
      await destination.apply(batchOf([rowOf('1', { a: 'x' })]));
      proxy.cutNextResponse(place.commitMark);
      const second = batchOf([rowOf('2', { a: 'y' })], { batchNo: 2 });
      await expect(destination.apply(second)).rejects.toMatchObject({ code: 'destination_unavailable' });
      await using next = place.connect();
      const { checkpoint } = await next.open(claimOf(place.schema, { mode, written, fence: 2 }));
      expect(checkpoint).toMatchObject({ runId: 'run_1', batchNo: 2 });
      await next.apply(batchOf([], { batchNo: 3, completesGeneration }));
      expect(await itemValues(place, 'a')).toEqual(expect.arrayContaining(['1 x', '2 y']));
    });

    it('goes on where a later attempt took over, without what the older one still sends', async () => {
      await using place = await kind.createPlace();
      await seedRows(place, { mode });
      await using older = place.connect();
      await using later = place.connect();
      await older.open(claimOf(place.schema, { mode }));
      await older.apply(batchOf([rowOf('1', { a: 'older' })]));
      await later.open(claimOf(place.schema, { mode, fence: 2 }));
      const late = batchOf([rowOf('1', { a: 'too late' }), rowOf('3', { a: 'too late' })], {
        batchNo: 2,
        completesGeneration,
        tombstones: [{ externalId: '1', effect: 'hard' }],
      });
      await expect(older.apply(late)).rejects.toMatchObject({ code: 'fenced' });
      await later.apply(batchOf([rowOf('2', { a: 'later' })], { batchNo: 2, completesGeneration }));
      const values = await itemValues(place, 'a');
      expect(values.filter((value) => !value.endsWith('null'))).toEqual(['1 older', '2 later']);
    });

    it('calls a lane new until a batch is applied, and again after its table was dropped', async () => {
      await using place = await kind.createPlace();
      expect(await deliver(place, { mode, fence: 1 }, {})).toBe(true);
      expect(await deliver(place, { mode, fence: 2 }, {})).toBe(false);
      await place.execute(`drop table "${place.schema}".items`);
      await using idle = place.connect();
      expect(await idle.open(claimOf(place.schema, { mode, fence: 3 }))).toMatchObject({ fresh: true });
      expect(await deliver(place, { mode, fence: 4 }, {})).toBe(true);
      expect(await deliver(place, { mode, fence: 5 }, {})).toBe(false);
    });

    it('touches the rows of its own connection only', async () => {
      await using place = await kind.createPlace();
      const lanes = ['con_1', 'con_2'].map((connectionId) => ({ connectionId, lane: `${connectionId}/items`, mode }));
      for (const lane of lanes) {
        await seedRows(place, lane);
        await deliver(place, lane, { rows: ['1', '2', '3'].map((id) => rowOf(id, { a: lane.connectionId })) });
      }
      const othersOf = async () => (await place.rows('items')).filter((row) => row['_connection_id'] === 'con_2');
      const others = await othersOf();
      await deliver(
        place,
        { ...lanes[0], fence: 2 },
        {
          runId: 'run_2',
          rows: [rowOf('1', { a: 'again' })],
          tombstones: [
            { externalId: '2', effect: 'soft' },
            { externalId: '3', effect: 'hard' },
          ],
        },
      );
      expect(others).toHaveLength(3);
      expect(await othersOf()).toEqual(others);
    });

    it('rejects the record that does not fit, by its place in the batch, and stores the others', async () => {
      await using place = await kind.createPlace();
      await seedRows(place, { mode });
      await using destination = place.connect();
      await destination.open(claimOf(place.schema, { mode, columns: [columnOf('n', 'bigint')] }));
      const rejected = await destination.apply(
        batchOf([rowOf('1', { n: 1 }), rowOf('2', { n: 'secret' }), rowOf('3', { n: 3 })], { completesGeneration }),
      );
      expect(rejected).toEqual([{ index: 1, externalId: '2', message: 'The value of column "n" is not an integer.' }]);
      const values = await itemValues(place, 'n');
      expect(values.filter((value) => !value.endsWith('null'))).toEqual(['1 1', '3 3']);
    });

    it('finds the records that only the server refuses, by their place in the batch', async () => {
      await using place = await kind.createPlace();
      await seedRows(place, { mode });
      await using setup = place.connect();
      const owner = { lane: 'con_1/setup', mode: mode === 'append' ? mode : 'upsert' } as const;
      await setup.open(claimOf(place.schema, { ...owner, columns: [columnOf('n', 'bigint')] }));
      await place.execute(`alter table "${place.schema}".items add constraint small check (n < 100)`);
      await using destination = place.connect();
      await destination.open(claimOf(place.schema, { mode }));
      const rejected = await destination.apply(
        batchOf([rowOf('1', { n: 4711 }), rowOf('2', { n: 2 }), rowOf('3', { n: 4712 })], { completesGeneration }),
      );
      expect(rejected).toMatchObject([
        { index: 0, externalId: '1', message: expect.stringContaining('small') },
        { index: 2, externalId: '3', message: expect.not.stringContaining('4712') },
      ]);
      const values = await itemValues(place, 'n');
      expect(values.filter((value) => !value.endsWith('null'))).toEqual(['2 2']);
    });

    it('gives new fields a column, or drops them when the table must not evolve', async () => {
      await using place = await kind.createPlace();
      await seedRows(place, { mode });
      await deliver(place, { mode, evolve: 'none' }, { rows: [rowOf('1', { fresh: 'x' })] });
      expect(await place.columnTypes('items')).not.toHaveProperty('fresh');
      await deliver(place, { mode, fence: 2 }, { runId: 'run_2', rows: [rowOf('1', { fresh: 'x' })] });
      expect(await itemValues(place, 'fresh')).toContain('1 x');
    });

    it('refuses a column whose type the spec has changed, and changes nothing', async () => {
      await using place = await kind.createPlace();
      await seedRows(place, { mode });
      await deliver(place, { mode, columns: [columnOf('n', 'text')] }, { rows: [rowOf('1', { n: '7' })] });
      const before = await place.columnTypes('items');
      const columns = [columnOf('n', 'numeric'), columnOf('more', 'text')];
      const { text, numeric } = place.typeNames;
      await expect(deliver(place, { mode, fence: 2, columns }, {})).rejects.toMatchObject({
        code: 'destination_rejected',
        message: expect.stringContaining(`items" is ${text}, and the spec says ${numeric}.`),
      });
      expect(await place.columnTypes('items')).toEqual(before);
    });
  });

  describe('in mode append', () => {
    const mode = 'append';

    it('keeps every version in the order of delivery, also of one batch', async () => {
      await using place = await kind.createPlace();
      await deliver(place, { mode }, { rows: [rowOf('1', { v: 1 }), rowOf('1', { v: 2 })] });
      await deliver(place, { mode, fence: 2 }, { runId: 'run_2', rows: [rowOf('1', { v: 3 })] });
      const rows = await place.rows('items');
      const inOrder = rows.toSorted((a, b) => Number(a['_seq']) - Number(b['_seq']));
      expect(inOrder).toMatchObject([
        { v: '1', _run_id: 'run_1' },
        { v: '2', _run_id: 'run_1' },
        { v: '3', _run_id: 'run_2' },
      ]);
    });

    it.each(['upsert', 'update', 'replace'] as const)('and mode %s never share a table', async (other) => {
      await using place = await kind.createPlace();
      await deliver(place, { mode, table: 'versions' }, { rows: [rowOf('1', { a: 'x' })] });
      await deliver(place, { table: 'records', fence: 2 }, { rows: [rowOf('1', { a: 'x' })] });
      const rejection = (key: string) => ({
        code: 'destination_rejected',
        message: expect.stringContaining(`${key} is not its key, which mode`),
      });
      await expect(deliver(place, { mode: other, table: 'versions', fence: 3 })).rejects.toMatchObject(
        rejection('(_connection_id, _external_id)'),
      );
      await expect(deliver(place, { mode, table: 'records', fence: 3 })).rejects.toMatchObject(rejection('(_seq)'));
      expect(await place.rows('versions')).toHaveLength(1);
      expect(await place.columnTypes('records')).not.toHaveProperty('_seq');
    });
  });

  describe('in mode update', () => {
    const mode = 'update';

    it('awaits the rows that are not there yet, and writes the others', async () => {
      await using place = await kind.createPlace();
      await seedRows(place, { mode });
      await using destination = place.connect();
      await destination.open(claimOf(place.schema, { mode }));
      const rows = ['4', '1', '5'].map((id) => rowOf(id, { a: id }));
      expect(await destination.apply(batchOf(rows))).toMatchObject([
        { index: 0, externalId: '4', message: expect.stringContaining('no row of this record yet'), isAwaited: true },
        { index: 2, externalId: '5', isAwaited: true },
      ]);
      expect(await itemValues(place, 'a')).toEqual(['1 1', '2 null', '3 null']);
    });

    it('sets only what a record gives, null included, and never inserts', async () => {
      await using place = await kind.createPlace();
      await deliver(place, { lane: 'con_1/owner' }, { rows: ['1', '2', '3'].map((id) => rowOf(id, { a: 1, b: 'b' })) });
      await deliver(
        place,
        { mode, columns: [{ ...columnOf('a', 'bigint'), nullable: false }] },
        {
          runId: 'run_2',
          rows: [rowOf('1', { a: 2 }), rowOf('2', { b: null }), rowOf('4', { a: 4 }), rowOf('3', { a: null })],
        },
      );
      expect(await place.rows('items')).toMatchObject([
        { _external_id: '1', a: '2', b: 'b', _run_id: 'run_2' },
        { _external_id: '2', a: '1', b: null, _run_id: 'run_2' },
        { _external_id: '3', a: '1', b: 'b', _run_id: 'run_1' },
      ]);
    });

    it('adds columns that the resource which owns the table leaves alone', async () => {
      await using place = await kind.createPlace();
      const owner = { lane: 'con_1/owner' };
      await deliver(place, owner, { rows: [rowOf('1', { a: 1 })] });
      await deliver(
        place,
        { mode, columns: [columnOf('named', 'text')] },
        { rows: [rowOf('1', { named: 'x', seen: 'y' })] },
      );
      await deliver(place, { ...owner, fence: 2 }, { rows: [rowOf('1', { a: 2 })] });
      expect(await place.rows('items')).toMatchObject([{ a: '2', named: 'x', seen: 'y' }]);
    });
  });
});
