import { expect, test } from 'vitest';
import type { Account } from '../support/sync/account.ts';
import { useSharedAccounts } from '../support/sync/use-accounts.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const { account } = useSharedAccounts(api);

interface Row {
  readonly id: number;
  readonly gone?: boolean;
}

/** A connection that has delivered the records 1 to 4, and what its API then has. */
async function delivered(key: string, resource: object) {
  let rows: readonly Row[] = [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }];
  api.serve(key, () => ({ body: rows }));
  const table = key.replaceAll('-', '_');
  const of = await account({ key, resources: [{ key, target: { table }, ...resource }] });
  await of.sync(key);
  return {
    of,
    table,
    change(next: readonly Row[]) {
      rows = next;
    },
  };
}

/** The customer makes the table again with all of its rows. */
async function rebuild({ destination }: Account, table: string): Promise<void> {
  await destination.query(`create table rebuilt (like ${table} including all)`);
  await destination.query(`insert into rebuilt overriding system value select * from ${table}`);
  await destination.query(`drop table ${table}`);
  await destination.query(`alter table rebuilt rename to ${table}`);
}

const dropCheckpoint = ({ destination }: Account) => destination.query('drop table _css_checkpoint');

test.each([
  ['a table that is rebuilt', rebuild],
  ['a checkpoint that is dropped', dropCheckpoint],
] as const)('after %s, a record that was deleted meanwhile is found missing', async (_, lose) => {
  const key = lose === rebuild ? 'rebuilt-scan' : 'dropped-scan';
  const { of, table, change } = await delivered(key, { deletes: { mode: 'full_scan', effect: 'hard' } });
  await using _closed = of;
  await lose(of, table);
  change([{ id: 2 }, { id: 3 }, { id: 4 }, { id: 5 }]);
  expect(await of.sync(key)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 4, deleted: 1 } });
  expect(await of.live(table)).toEqual(['2', '3', '4', '5']);
  expect((await of.sync(key)).statsJson).toMatchObject({ recordsOut: 0, deleted: 0 });
});

test('after a table was rebuilt, the deletion of a record in it is delivered', async () => {
  const deletes = { mode: 'flag', when: 'gone = true', effect: 'hard' };
  const { of, table, change } = await delivered('rebuilt-flag', { deletes });
  await using _closed = of;
  await rebuild(of, table);
  change([{ id: 1, gone: true }, { id: 2 }, { id: 3 }, { id: 4 }, { id: 9, gone: true }]);
  expect(await of.sync('rebuilt-flag')).toMatchObject({ statsJson: { recordsOut: 3, deleted: 1 } });
  expect(await of.live(table)).toEqual(['2', '3', '4']);
});

test('the brake on deletes counts the rows that were left', async () => {
  const deletes = { mode: 'full_scan', effect: 'hard', maxRatio: 0.5 };
  const { of, table, change } = await delivered('rebuilt-brake', { deletes });
  await using _closed = of;
  await of.destination.query(
    `insert into ${table} (_connection_id, _external_id, _run_id, _synced_at)
     select _connection_id, n::text, _run_id, now() from ${table}, generate_series(100, 2300) n where _external_id = '1'`,
  );
  await rebuild(of, table);
  change([{ id: 1 }]);
  expect(await of.sync('rebuilt-brake')).toMatchObject({ status: 'partial', statsJson: { recordsOut: 1, deleted: 0 } });
  expect(await of.live(table)).toHaveLength(2205);
});

test('versions of a record that is deleted are marked in a table that was rebuilt', async () => {
  const deletes = { mode: 'full_scan', effect: 'soft' };
  const { of, table, change } = await delivered('rebuilt-versions', {
    deletes,
    target: { table: 'rebuilt_versions', mode: 'append' },
  });
  await using _closed = of;
  await rebuild(of, table);
  change([{ id: 2 }, { id: 3 }, { id: 4 }]);
  expect(await of.sync('rebuilt-versions')).toMatchObject({ statsJson: { deleted: 1 } });
  expect(new Set(await of.live(table))).toEqual(new Set(['2', '3', '4']));
});

test.each(['a run that succeeds', 'one that fails before it'])(
  'rows under a former key are found missing: %s',
  async (first) => {
    const failsFirst = first === 'one that fails before it';
    const key = failsFirst ? 'rekeyed-later' : 'rekeyed-rows';
    const table = key.replace('-', '_');
    let status = 200;
    api.serve(key, () => ({ status, body: [1, 2, 3].map((id) => ({ id, number: id + 10 })) }));
    const resource = { key, target: { table }, deletes: { mode: 'full_scan', effect: 'hard' } };
    await using of = await account({ key, resources: [resource] });
    await of.sync(key);
    const { plan } = await of.upgrade('2.0.0', [{ ...resource, primaryKey: 'number' }]);
    expect(plan.resources).toMatchObject([{ mayDelete: true, effect: expect.stringContaining('under the old keys') }]);
    if (failsFirst) {
      status = 400;
      expect(await of.sync(key)).toMatchObject({ status: 'failed' });
      status = 200;
    }
    expect(await of.sync(key)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 3, deleted: 3 } });
    expect(await of.live(table)).toEqual(['11', '12', '13']);
    expect(await of.sync(key)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 0, deleted: 0 } });
  },
);

test('a record that was deleted before records were noted is found missing', async () => {
  const key = 'noted-later';
  const unnoted = { changeDetection: { mode: 'none' } };
  const { of, table, change } = await delivered(key, unnoted);
  await using _closed = of;
  change([{ id: 2 }, { id: 3 }, { id: 4 }]);
  const noted = { key, target: { table }, deletes: { mode: 'full_scan', effect: 'hard' } };
  const { plan } = await of.upgrade('2.0.0', [noted]);
  expect(plan.resources).toMatchObject([{ class: 'resets', resets: 'state', mayDelete: true, rekeyedTable: null }]);
  expect(await of.sync(key)).toMatchObject({
    status: 'succeeded',
    notes: { started_over: 1 },
    statsJson: { recordsOut: 3, deleted: 1 },
  });
  expect(await of.live(table)).toEqual(['2', '3', '4']);
  expect(await of.sync(key)).toMatchObject({ notes: {}, statsJson: { recordsOut: 0, deleted: 0 } });
  // As much is known as without change detection, so nothing starts over.
  await of.upgrade('3.0.0', [{ ...noted, ...unnoted, deletes: { mode: 'none' } }]);
  expect(await of.sync(key)).toMatchObject({ notes: {}, statsJson: { recordsOut: 3 } });
});

test('a version that comes back after one that was not noted is delivered', async () => {
  const key = 'back-again';
  let name = 'old';
  api.serve(key, () => ({ body: [{ id: 1, name }] }));
  const resource = { key, target: { table: 'back_again' } };
  await using of = await account({ key, resources: [resource] });
  await of.sync(key);
  await of.upgrade('2.0.0', [{ ...resource, changeDetection: { mode: 'none' } }]);
  name = 'new';
  await of.sync(key);
  await of.upgrade('3.0.0', [resource]);
  name = 'old';
  await of.sync(key);
  expect(await of.rows('back_again')).toMatchObject([{ name: 'old' }]);
});
