import { expect, test } from 'vitest';
import { backup, restoreInPlace } from '../support/destinations/backup.ts';
import { openAccount } from '../support/sync/account.ts';
import { useSharedAccounts } from '../support/sync/use-accounts.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const { shared } = useSharedAccounts(api);

const rowsOf = (...names: readonly string[]) => names.map((name, index) => ({ id: index + 1, name }));

/** A connection whose database lacks, in a copy, what its last run delivered. */
async function behind(key: string, { destination = {}, target = {} } = {}) {
  let rows = rowsOf('a', 'a');
  api.serve(key, () => ({ body: rows }));
  const { stack, upstream } = shared();
  const resources = [{ key, target: { table: key.replaceAll('-', '_'), ...target } }];
  const of = await openAccount(stack, { key, baseUrl: upstream.url, resources, destination });
  await of.sync(key);
  const table = key.replaceAll('-', '_');
  await backup(of, table);
  rows = rowsOf('b', 'a', 'a');
  const last = await of.sync(key);
  await restoreInPlace(of, table);
  return {
    of,
    table,
    last,
    change(...names: readonly string[]) {
      rows = rowsOf(...names);
    },
  };
}

test('a run whose database has lost committed batches fails, says since when, and a rewind to then delivers them', async () => {
  const { of, table, change } = await behind('lost-commits');
  await using _closed = of;
  change('b', 'a', 'a', 'a');
  const failed = await of.sync('lost-commits');
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'destination_behind' } });
  const [, since = ''] = /--to (\S+),/.exec(failed.error?.message ?? '') ?? [];
  expect(await of.rows(table)).toHaveLength(2);
  // It is no fault of the connection, and no later run passes over it.
  expect(await of.sync('lost-commits')).toMatchObject({ status: 'failed', error: { code: 'destination_behind' } });
  expect(await of.backfill('lost-commits', { rewindTo: since })).toMatchObject({ status: 'succeeded' });
  const wanted = ['b', 'a', 'a', 'a'].map((name) => expect.objectContaining({ name }));
  expect(await of.rows(table)).toEqual(wanted);
  expect(await of.sync('lost-commits')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 0 } });
});

test('a rewind that brings nothing also ends it', async () => {
  const { of, change, last } = await behind('nothing-left');
  await using _closed = of;
  change();
  expect(await of.backfill('nothing-left', { rewindTo: last.startedAt })).toMatchObject({ status: 'succeeded' });
  change('a');
  expect(await of.sync('nothing-left')).toMatchObject({ status: 'succeeded' });
});

test('everything is delivered again without a word where the spec says so', async () => {
  const { of, table, change } = await behind('starts-over', { destination: { onBehind: 'start_over' } });
  await using _closed = of;
  change('b', 'a', 'a', 'a');
  expect(await of.sync('starts-over')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 4 } });
  expect(await of.rows(table)).toEqual(['b', 'a', 'a', 'a'].map((name) => expect.objectContaining({ name })));
});

test('where every version is kept, a backfill with force ends it', async () => {
  const { of, table, change } = await behind('versions-lost', { target: { mode: 'append' } });
  await using _closed = of;
  change('b', 'a', 'a', 'a');
  const { error } = await of.sync('versions-lost');
  const advice = /To deliver it again: POST \S+\/backfill with \{.*"force": true\}\.$/;
  expect(error).toMatchObject({ code: 'destination_behind', message: expect.stringMatching(advice) });
  expect(await of.backfill('versions-lost', { force: true })).toMatchObject({ status: 'succeeded' });
  expect(new Set((await of.rows(table)).map(({ name }) => name))).toEqual(new Set(['a', 'b']));
  expect(await of.sync('versions-lost')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 0 } });
});

test('a backfill with force makes the deletes again that were lost', async () => {
  let rows = rowsOf('a', 'a', 'a', 'a');
  api.serve('lost-deletes', () => ({ body: rows }));
  const { stack, upstream } = shared();
  const resource = {
    key: 'lost-deletes',
    target: { table: 'lost_deletes' },
    deletes: { mode: 'full_scan', effect: 'hard' },
  };
  await using of = await openAccount(stack, { key: 'lost-deletes', baseUrl: upstream.url, resources: [resource] });
  await of.sync('lost-deletes');
  await backup(of, 'lost_deletes');
  rows = rowsOf('a', 'a', 'a');
  expect(await of.sync('lost-deletes')).toMatchObject({ statsJson: { deleted: 1 } });
  await restoreInPlace(of, 'lost_deletes');
  expect(await of.backfill('lost-deletes', { force: true })).toMatchObject({ status: 'succeeded' });
  expect(await of.live('lost_deletes')).toEqual(['1', '2', '3']);
});

test('after a backfill with force the deletion of a record is delivered that was only in quarantine', async () => {
  let rows: readonly object[] = rowsOf('a', 'a');
  api.serve('lost-kept', () => ({ body: rows }));
  const { stack, upstream } = shared();
  const resource = {
    key: 'lost-kept',
    target: { table: 'lost_kept' },
    deletes: { mode: 'flag', when: 'gone = true', effect: 'hard' },
    transform: '{ "id": id, "name": name = "bad" ? $error("bad") : name }',
    onInvalid: 'quarantine',
  };
  await using of = await openAccount(stack, { key: 'lost-kept', baseUrl: upstream.url, resources: [resource] });
  await of.sync('lost-kept');
  rows = rowsOf('b', 'a');
  await of.sync('lost-kept');
  await backup(of, 'lost_kept');
  const gone = [
    { id: 1, name: 'a' },
    { id: 2, gone: true },
  ];
  rows = gone;
  expect(await of.sync('lost-kept')).toMatchObject({ statsJson: { deleted: 1 } });
  rows = rowsOf('b', 'bad');
  expect(await of.sync('lost-kept')).toMatchObject({ statsJson: { quarantined: 1 } });
  await restoreInPlace(of, 'lost_kept');
  await of.backfill('lost-kept', { force: true });
  rows = gone;
  expect(await of.sync('lost-kept')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1 } });
  expect(await of.live('lost_kept')).toEqual(['1']);
});

test('a backfill with force from some time on does not end it: older records may be missing', async () => {
  const incremental = { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc' };
  const at = (no: number) => new Date(Date.UTC(2025, 0, no)).toISOString();
  let rows = [{ id: 1, at: at(1) }];
  api.serve('lost-part', () => ({ body: rows }));
  const { stack, upstream } = shared();
  const resource = {
    key: 'lost-part',
    target: { table: 'lost_part' },
    incremental: { ...incremental, clientFilter: true },
  };
  await using of = await openAccount(stack, { key: 'lost-part', baseUrl: upstream.url, resources: [resource] });
  await of.sync('lost-part');
  await backup(of, 'lost_part');
  rows = [1, 2, 9].map((id) => ({ id, at: at(id) }));
  await of.sync('lost-part');
  await restoreInPlace(of, 'lost_part');
  const refused = { status: 'failed', error: { code: 'destination_behind' } };
  expect(await of.backfill('lost-part', { force: true, from: at(5) })).toMatchObject(refused);
  expect(await of.backfill('lost-part', { force: true })).toMatchObject({ status: 'succeeded' });
  expect(await of.live('lost_part')).toEqual(['1', '2', '9']);
});
