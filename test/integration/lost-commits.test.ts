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
