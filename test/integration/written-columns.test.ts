import { describe, expect, it } from 'vitest';
import { useSharedService } from '../support/service/use-shared-service.ts';
import { openAccount } from '../support/sync/account.ts';
import { type Connected, connect } from '../support/sync/connected.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const shared = useSharedService({ reply: api.reply });

type Row = Readonly<Record<string, unknown>>;

/** A resource whose only page is what `list` holds at the time. */
async function serving(name: string, list: { rows: readonly Row[] }, resource: Row = {}): Promise<Connected> {
  api.serve(name, () => ({ body: list.rows }));
  const { stack, upstream } = shared();
  return await connect(stack, { upstream, name, resource });
}

const before: readonly Row[] = [
  { id: 1, note: 'x', n: 1 },
  { id: 2, note: 'y', n: 1 },
];

/** The next versions of the records: `note` of the first one is not there any more. */
const ends: readonly (readonly [string, readonly Row[], readonly (string | null)[]])[] = [
  ['turns null', [{ id: 1, note: null, n: 2 }, before[1] ?? {}], [null, 'y']],
  ['vanishes', [{ id: 1, n: 2 }, before[1] ?? {}], [null, 'y']],
  [
    'turns null while another record of the batch has a value',
    [
      { id: 1, note: null, n: 2 },
      { id: 2, note: 'z', n: 2 },
    ],
    [null, 'z'],
  ],
];

const tableByHand = (name: string) => `
  create table ${name} (
    id bigint, note text, n bigint, own text default 'mine', _connection_id text not null, _external_id text not null,
    _run_id text not null, _synced_at timestamptz not null, _deleted_at timestamptz,
    primary key (_connection_id, _external_id))`;

const notes = async (of: Connected) => (await of.rows()).map(({ note }) => note);

describe.each(ends)('a field that %s becomes null in its row', (how, after, expected) => {
  const nameOf = (start: string) => `${start}_${ends.findIndex(([of]) => of === how)}`;

  it('where the customer has put a comment of their own on its column', async () => {
    const list: { rows: readonly Row[] } = { rows: before };
    const name = nameOf('commented');
    const of = await serving(name, list);
    await of.sync();
    await of.destination.query(`comment on column ${name}.note is 'A note, says the data catalogue.'`);
    list.rows = after;
    expect(await of.sync()).toMatchObject({ status: 'succeeded' });
    expect(await notes(of)).toEqual(expected);
  });

  it('where the customer made the table by hand, and a column of their own in it stays as it is', async () => {
    const list: { rows: readonly Row[] } = { rows: before };
    const name = nameOf('by_hand');
    const of = await serving(name, list);
    await of.destination.query(tableByHand(name));
    await of.sync();
    await of.destination.query(`update ${name} set own = 'changed'`);
    list.rows = after;
    expect(await of.sync()).toMatchObject({ status: 'succeeded' });
    expect(await notes(of)).toEqual(expected);
    expect((await of.rows()).map(({ own }) => own)).toEqual(['changed', 'changed']);
  });

  it('where the spec named its column before and does not any more', async () => {
    const list: { rows: readonly Row[] } = { rows: before };
    const name = nameOf('unnamed');
    const of = await serving(name, list, { target: { table: name, columns: { note: { type: 'text' } } } });
    await of.sync();
    await of.override({ target: { columns: { note: null } } });
    list.rows = after;
    expect(await of.sync()).toMatchObject({ status: 'succeeded' });
    expect(await notes(of)).toEqual(expected);
  });

  it('where the customer has built the table anew without comments and renamed it', async () => {
    const list: { rows: readonly Row[] } = { rows: before };
    const name = nameOf('rebuilt');
    const of = await serving(name, list);
    await of.sync();
    await of.destination.query(`
      create table copied (like ${name} including constraints including indexes);
      insert into copied select * from ${name}; drop table ${name}; alter table copied rename to ${name}`);
    list.rows = after;
    expect(await of.sync()).toMatchObject({ status: 'succeeded' });
    expect(await notes(of)).toEqual(expected);
  });

  it('where the table must not evolve', async () => {
    const list: { rows: readonly Row[] } = { rows: before };
    const name = nameOf('fixed');
    const of = await serving(name, list, { target: { table: name, evolve: 'none' } });
    await of.destination.query(tableByHand(name));
    await of.sync();
    list.rows = after;
    expect(await of.sync()).toMatchObject({ status: 'succeeded' });
    expect(await notes(of)).toEqual(expected);
  });
});

it('a lane that a version before this has written keeps to the columns that it marked', async () => {
  const list: { rows: readonly Row[] } = { rows: before };
  const name = 'marked';
  const of = await serving(name, list);
  await of.sync();
  // As that version left it: the mark is a comment, and the control database knows nothing of columns.
  await of.destination.query(
    `comment on column ${name}.note is 'Added by the connector sync for a field of the records'`,
  );
  await shared().stack.db.deleteFrom('writtenColumns').execute();
  list.rows = [{ id: 1, n: 2 }, before[1] ?? {}];
  expect(await of.sync()).toMatchObject({ status: 'succeeded' });
  expect(await notes(of)).toEqual([null, 'y']);
});

it('a column of the customer in another table stays as it is, although the lane has filled one of that name before', async () => {
  let rows: readonly Row[] = before;
  api.serve('moved_from', () => ({ body: rows }));
  const { stack, upstream } = shared();
  const resource = (table: string) => ({ key: 'moved_from', target: { table } });
  const options = { key: 'moved-from', baseUrl: upstream.url, resources: [resource('moved_from')] };
  await using of = await openAccount(stack, options);
  await of.sync('moved_from');
  rows = rows.map(({ id }) => ({ id, n: 2 }));
  await of.destination.query(tableByHand('moved_to'));
  await of.upgrade('2.0.0', [resource('moved_to')]);
  await of.sync('moved_from');
  await of.destination.query(`update moved_to set note = 'theirs'`);
  rows = rows.map(({ id }) => ({ id, n: 3 }));
  await of.sync('moved_from');
  expect((await of.rows('moved_to')).map(({ note, n }) => [note, n])).toEqual([
    ['theirs', '3'],
    ['theirs', '3'],
  ]);
  await of.upgrade('3.0.0', [resource('moved_from')]);
  await of.sync('moved_from');
  expect((await of.rows('moved_from')).map(({ note, n }) => [note, n])).toEqual([
    [null, '3'],
    [null, '3'],
  ]);
});

it('a new table has the columns in the order of the spec, then those of the first record', async () => {
  const properties = {
    id: { type: 'integer' },
    zip_code: { type: 'string' },
    n: { type: 'integer' },
    b: { type: 'string' },
  };
  const list: { rows: readonly Row[] } = { rows: [{ b: 'x', id: 1, wider_than_others: 1, n: 1, a: 1, zip_code: 'x' }] };
  const of = await serving('ordered', list, { validate: { schema: { type: 'object', properties } } });
  expect(await of.sync()).toMatchObject({ status: 'succeeded' });
  const [row = {}] = await of.destination.query('select * from ordered');
  const names = Object.keys(row).filter((name) => !name.startsWith('_'));
  expect(names).toEqual(['id', 'zip_code', 'n', 'b', 'wider_than_others', 'a']);
});
