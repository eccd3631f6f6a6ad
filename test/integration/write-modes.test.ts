import { describe, expect, it } from 'vitest';
import { useSharedService } from '../support/service/use-shared-service.ts';
import { type Connected, connect } from '../support/sync/connected.ts';
import { createScriptedApi, type ScriptedReply } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const shared = useSharedService({ reply: api.reply });

type Row = Readonly<Record<string, unknown>>;

/** A resource of its own, read from what `served` gives, page by page. */
async function connected(name: string, served: (page: number) => readonly Row[] | ScriptedReply, resource: Row) {
  api.serve(name, (query) => {
    const given = served(Number(query.get('page')));
    return 'length' in given ? { body: given } : given;
  });
  const { stack, upstream } = shared();
  return await connect(stack, {
    upstream,
    name,
    resource: { pagination: { kind: 'page', inject: { in: 'query', name: 'page' } }, ...resource },
  });
}

const onlyPage = (rows: () => readonly Row[]) => (page: number) => (page === 1 ? rows() : []);
const idsOf = async (of: Connected) => (await of.rows()).map(({ id }) => id);

describe('a table that is appended to', () => {
  it('keeps every version of a record, each once, in the order of delivery', async () => {
    let rows: readonly Row[] = [
      { id: 1, n: 'a' },
      { id: 2, n: 'a' },
    ];
    const of = await connected(
      'appended',
      onlyPage(() => rows),
      { target: { table: 'appended', mode: 'append' } },
    );
    expect((await of.sync()).statsJson).toMatchObject({ recordsOut: 2 });
    rows = [
      { id: 1, n: 'b' },
      { id: 2, n: 'a' },
    ];
    expect((await of.sync()).statsJson).toMatchObject({ recordsOut: 1, skipped: 1 });
    const stored = await of.destination.query('select id::int, n from appended order by _seq');
    expect(stored).toEqual([
      { id: 1, n: 'a' },
      { id: 2, n: 'a' },
      { id: 1, n: 'b' },
    ]);
  });
});

describe('a table that is replaced', () => {
  const target = { table: 'replaced', mode: 'replace' };

  it('holds what the last complete run read and nothing else', async () => {
    let rows: readonly Row[] = [{ id: 1 }, { id: 2 }];
    const of = await connected('replaced', (page) => (page === 1 ? rows : page === 2 ? [{ id: 9 }] : []), { target });
    expect(await of.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 3 } });
    expect(await idsOf(of)).toEqual(['1', '2', '9']);
    rows = [{ id: 2 }, { id: 3 }];
    // Unchanged records are delivered again: the new generation needs them.
    expect(await of.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 3, skipped: 0 } });
    expect(await idsOf(of)).toEqual(['2', '3', '9']);
  });

  it('stays as it was when a run fails in the middle, and when one is partial', async () => {
    let second: readonly Row[] | ScriptedReply = [{ id: 2, name: 'b' }];
    const table = 'kept_table';
    const of = await connected(
      'kept_table',
      (page) => (page === 1 ? [{ id: 1, name: 'a' }] : page === 2 ? second : []),
      {
        target: { ...target, table },
        onInvalid: 'quarantine',
        validate: { schema: { properties: { id: { type: 'integer' }, name: { type: 'string' } } } },
      },
    );
    expect(await of.sync()).toMatchObject({ status: 'succeeded' });
    second = { status: 404, body: {} };
    expect(await of.sync()).toMatchObject({ status: 'failed' });
    expect(await idsOf(of)).toEqual(['1', '2']);
    second = [{ id: 3, name: 7 }];
    expect(await of.sync()).toMatchObject({ status: 'partial', statsJson: { quarantined: 1 } });
    expect(await idsOf(of)).toEqual(['1', '2']);
    second = [{ id: 3, name: 'c' }];
    expect(await of.sync()).toMatchObject({ status: 'succeeded' });
    expect(await idsOf(of)).toEqual(['1', '3']);
  });

  it('stays as it was when a response lacks its list', async () => {
    let body: unknown = { items: [{ id: 1 }] };
    const of = await connected('torn_table', () => ({ body }), {
      target: { table: 'torn_table', mode: 'replace' },
      response: { records: 'items', recordsMissing: 'empty' },
      pagination: { kind: 'none' },
    });
    expect(await of.sync()).toMatchObject({ status: 'succeeded' });
    body = {};
    expect(await of.sync()).toMatchObject({ status: 'partial', notes: { list_missing: 1 } });
    expect(await idsOf(of)).toEqual(['1']);
  });

  it.each([
    ['came empty', 'emptied', 500, 0],
    ['lost most of its records', 'shrunk', 500, 100],
    ['came empty, however small the table is', 'small', 1, 0],
  ])(
    'stays as it was when the list %s, until a forced backfill says that it is true',
    async (_what, table, from, to) => {
      const listOf = (count: number): readonly Row[] => Array.from({ length: count }, (_, id) => ({ id }));
      let rows = listOf(from);
      const of = await connected(
        table,
        onlyPage(() => rows),
        { target: { table, mode: 'replace' } },
      );
      await of.sync();
      rows = listOf(to);
      for (let time = 0; time < 2; time += 1) {
        expect(await of.sync()).toMatchObject({ status: 'partial', notes: { deletes_held_back: 1 } });
        expect(await idsOf(of)).toHaveLength(from);
      }
      expect(await of.backfill({ force: true })).toMatchObject({ status: 'succeeded' });
      expect(await idsOf(of)).toHaveLength(to);
      expect(await of.sync()).toMatchObject({ status: 'succeeded' });
    },
  );

  it('may shrink as far as its spec says', async () => {
    let rows: readonly Row[] = [{ id: 1 }];
    const of = await connected(
      'unbraked',
      onlyPage(() => rows),
      { target: { table: 'unbraked', mode: 'replace', maxRatio: 1 } },
    );
    await of.sync();
    rows = [];
    expect(await of.sync()).toMatchObject({ status: 'succeeded' });
    expect(await of.rows()).toEqual([]);
  });
});
