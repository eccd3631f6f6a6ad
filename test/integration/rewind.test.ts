import { expect, test } from 'vitest';
import { purgeResolved } from '../../db/queries/maintenance/retention.ts';
import { backup, restoreInPlace } from '../support/destinations/backup.ts';
import type { Account } from '../support/sync/account.ts';
import { useSharedAccounts } from '../support/sync/use-accounts.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const { account, shared } = useSharedAccounts(api);

interface Row {
  readonly id: number;
  readonly at: string;
  readonly name: string;
  readonly gone?: boolean;
}

const at = (minute: number) => new Date(Date.UTC(2025, 0, 1, 0, minute)).toISOString();
const row = (id: number, minute: number, name = 'a'): Row => ({ id, at: at(minute), name });

/** A resource whose API gives what changed since the watermark, deleted records with a mark. */
function changes(key: string, rows: () => readonly Row[]) {
  api.serve(key, (query) => ({ body: rows().filter((each) => each.at >= (query.get('since') ?? '')) }));
  return {
    key,
    request: { path: `/${key}`, query: { since: '{{ window.from }}' } },
    incremental: { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'none', settle: 'PT0S' },
    deletes: { mode: 'flag', when: 'gone = true', effect: 'hard' },
  };
}

/** Keeps back each record whose name is `bad`. */
const refusing = {
  transform: '{ "id": id, "name": name = "bad" ? $error("bad") : name }',
  onInvalid: 'quarantine',
};

/** Restores as `pg_restore` does: the table is made anew. */
async function restoreAnew(of: Account, table: string): Promise<void> {
  await of.destination.query(`create table public.remade (like public.${table} including all)`);
  await of.destination.query(`drop table public.${table}`);
  await of.destination.query(`alter table public.remade rename to ${table}`);
  await restoreInPlace(of, table);
}

const rewind = (of: Account, resource: string, to: string) => of.backfill(resource, { rewindTo: to });

/** What the table has to have. */
const upstreamOf = (rows: readonly Row[]) =>
  rows.filter(({ gone }) => gone !== true).map(({ id, name }) => expect.objectContaining({ id: String(id), name }));

test.each([
  ['in place', restoreInPlace],
  ['as a new table', restoreAnew],
] as const)('a table restored %s is as the API again: new, changed and deleted records', async (way, restore) => {
  const key = way === 'in place' ? 'restored' : 'remade_table';
  let rows: readonly Row[] = [1, 2, 3, 4, 5].map((id) => row(id, id));
  await using of = await account({ key: key.replace('_', '-'), resources: [changes(key, () => rows)] });
  await of.sync(key);
  const to = await backup(of, key);
  rows = [row(1, 1), row(2, 12, 'changed'), { ...row(3, 13), gone: true }, row(4, 4), row(5, 5), row(6, 16)];
  expect((await of.sync(key)).statsJson).toMatchObject({ recordsOut: 2, deleted: 1 });
  rows = rows.map((each) => (each.id === 6 ? row(6, 26, 'changed too') : each));
  // The API forgets what is deleted.
  rows = rows.filter(({ gone }) => gone !== true);
  await of.sync(key);
  expect(await of.rows(key)).toEqual(upstreamOf(rows));

  await restore(of, key);
  expect(await of.live(key)).toEqual(['1', '2', '3', '4', '5']);
  const run = await rewind(of, key, to);
  expect(run).toMatchObject({ trigger: 'backfill', status: 'succeeded' });
  expect(run.statsJson.deleted).toBe(1);
  expect(await of.rows(key)).toEqual(upstreamOf(rows));
  expect(await of.watermarks(key)).toEqual({ '': at(26) });
  // Afterwards the lane is as it was: nothing is delivered without a reason.
  expect((await of.sync(key)).statsJson).toMatchObject({ recordsOut: 0, deleted: 0 });
});

test('a rewind reads from where the resource stood, not from the beginning', async () => {
  let rows = [1, 2, 3].map((id) => row(id, id));
  await using of = await account({ key: 'stood', resources: [changes('stood', () => rows)] });
  await of.sync('stood');
  const to = await backup(of, 'stood');
  rows = [...rows, row(4, 14)];
  await of.sync('stood');
  await restoreInPlace(of, 'stood');
  const run = await rewind(of, 'stood', to);
  expect(run).toMatchObject({
    watermarkBefore: at(3),
    watermarkAfter: at(14),
    statsJson: { recordsIn: 2, recordsOut: 2 },
  });
  expect(await of.live('stood')).toEqual(['1', '2', '3', '4']);
});

test('a rewind delivers a version that is older than the known one, as the destination may have lost that', async () => {
  let rows = [row(1, 1), row(2, 12, 'new')];
  const resource = { ...changes('older', () => rows), request: { path: '/older' } };
  await using of = await account({ key: 'older', resources: [resource] });
  await of.sync('older');
  const to = await backup(of, 'older');
  rows = [row(1, 1), row(2, 2, 'old')];
  expect(await of.sync('older')).toMatchObject({ notes: { stale: 1 }, statsJson: { recordsOut: 0 } });
  expect(await of.rows('older')).toMatchObject([{ name: 'a' }, { name: 'new' }]);
  expect(await rewind(of, 'older', to)).toMatchObject({ status: 'succeeded', notes: {} });
  expect(await of.rows('older')).toMatchObject([{ name: 'a' }, { name: 'old' }]);
  expect(await of.sync('older')).toMatchObject({ notes: {}, statsJson: { recordsOut: 0 } });
});

test('a rewind of a resource that is read by tokens begins with the first token since then, whatever its text', async () => {
  const tokens = ['m', 'z', 'b', 'k'];
  let count = 1;
  api.serve('tokens', (query) => {
    const after = tokens.indexOf(query.get('token') ?? '') + 1;
    const rows = Array.from({ length: count - after }, (_, no) => row(after + no + 1, 0));
    return { body: { rows, next: tokens[count - 1] } };
  });
  const resource = {
    key: 'tokens',
    request: { path: '/tokens', query: { token: '{{ watermark }}' } },
    response: { records: 'rows' },
    incremental: { kind: 'token', next: 'body.next' },
  };
  await using of = await account({ key: 'tokens', resources: [resource] });
  await of.sync('tokens');
  const to = await backup(of, 'tokens');
  for (count of [2, 3, 4]) await of.sync('tokens');
  await restoreInPlace(of, 'tokens');
  expect(await rewind(of, 'tokens', to)).toMatchObject({ watermarkBefore: 'm', statsJson: { recordsIn: 3 } });
  expect(await of.live('tokens')).toEqual(['1', '2', '3', '4']);
});

test('after a backfill since then it reads from the beginning, since that delivered older records', async () => {
  let rows = [1, 2, 3].map((id) => row(id, id));
  await using of = await account({ key: 'backfilled', resources: [changes('backfilled', () => rows)] });
  await of.sync('backfilled');
  const to = await backup(of, 'backfilled');
  rows = [row(1, 1, 'silently changed'), ...rows.slice(1)];
  await of.backfill('backfilled');
  await restoreInPlace(of, 'backfilled');
  expect(await rewind(of, 'backfilled', to)).toMatchObject({ watermarkBefore: null, statsJson: { recordsIn: 3 } });
  expect(await of.rows('backfilled')).toEqual(upstreamOf(rows));
});

test('a quarantined record that was asked for before the copy and retried after it is read again, however long ago', async () => {
  const rows = [row(1, 1), row(2, 2, 'bad'), row(3, 3)];
  const resource = { ...changes('retried', () => rows), ...refusing };
  await using of = await account({ key: 'retried', resources: [resource] });
  await of.sync('retried');
  await of.upgrade('1.1.0', [{ ...resource, transform: '{ "id": id, "name": name }' }]);
  const [open] = await of.quarantine();
  await shared().stack.org.call('POST', `/quarantine/${open?.id}/requeue`);
  const to = await backup(of, 'retried');
  await of.sync('retried');
  expect(await of.live('retried')).toEqual(['1', '2', '3']);
  await purgeResolved(shared().stack.db, { before: new Date(Date.now() + 60_000), rowsMax: 100 });
  await restoreInPlace(of, 'retried');
  expect(await rewind(of, 'retried', to)).toMatchObject({ watermarkBefore: null, statsJson: { recordsIn: 3 } });
  expect(await of.live('retried')).toEqual(['1', '2', '3']);
});

test('a rewind deletes no record that came back, also without change detection', async () => {
  let rows: readonly Row[] = [row(1, 1), row(2, 2), row(3, 3)];
  const resource = { ...changes('came-back', () => rows), changeDetection: { mode: 'none' } };
  await using of = await account({ key: 'came-back', resources: [{ ...resource, target: { table: 'came_back' } }] });
  await of.sync('came-back');
  rows = [row(1, 1), { ...row(2, 12), gone: true }, row(3, 3)];
  expect((await of.sync('came-back')).statsJson).toMatchObject({ deleted: 1 });
  rows = [row(1, 1), row(2, 13), row(3, 14)];
  await of.sync('came-back');
  const to = await backup(of, 'came_back');
  rows = [...rows, row(4, 24)];
  await of.sync('came-back');
  await restoreInPlace(of, 'came_back');
  const run = await rewind(of, 'came-back', to);
  expect(run).toMatchObject({ watermarkBefore: at(14), statsJson: { recordsOut: 2, deleted: 0 } });
  expect(await of.live('came_back')).toEqual(['1', '2', '3', '4']);
});

test('after a rewind the deletion of a record is delivered that was only in quarantine', async () => {
  let rows: readonly Row[] = [row(1, 1), row(2, 2)];
  const resource = { ...changes('restored-kept', () => rows), ...refusing, target: { table: 'restored_kept' } };
  await using of = await account({ key: 'restored-kept', resources: [resource] });
  await of.sync('restored-kept');
  rows = [row(1, 3), row(2, 2)];
  await of.sync('restored-kept');
  const to = await backup(of, 'restored_kept');
  rows = [row(1, 3), { ...row(2, 12), gone: true }];
  expect((await of.sync('restored-kept')).statsJson).toMatchObject({ deleted: 1 });
  rows = [row(1, 3), row(2, 13, 'bad')];
  expect((await of.sync('restored-kept')).statsJson).toMatchObject({ quarantined: 1 });
  await restoreInPlace(of, 'restored_kept');
  await rewind(of, 'restored-kept', to);
  rows = [row(1, 3), { ...row(2, 24), gone: true }];
  expect(await of.sync('restored-kept')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1 } });
  expect(await of.live('restored_kept')).toEqual(['1']);
});

test('a resource that is read whole is delivered again, and what a scan found missing is deleted again', async () => {
  let rows = Array.from({ length: 40 }, (_, index) => row(index + 1, 1));
  api.serve('whole', () => ({ body: rows }));
  const resource = { key: 'whole', deletes: { mode: 'full_scan', effect: 'soft', minRecords: 30 } };
  await using of = await account({ key: 'whole', resources: [resource] });
  await of.sync('whole');
  const to = await backup(of, 'whole');
  rows = [...rows.slice(10), row(50, 1)];
  await of.sync('whole');
  await restoreInPlace(of, 'whole');
  expect((await rewind(of, 'whole', to)).status).toBe('succeeded');
  expect((await of.live('whole')).toSorted()).toEqual(rows.map(({ id }) => String(id)).toSorted());
});

test('a rewind keeps the brake on deletes, until it is asked for by force', async () => {
  let rows = Array.from({ length: 60 }, (_, index) => row(index + 1, 1));
  api.serve('whole_again', () => ({ body: rows }));
  await using of = await account({
    key: 'whole-again',
    resources: [{ key: 'whole_again', deletes: { mode: 'full_scan', effect: 'hard' } }],
  });
  await of.sync('whole_again');
  const to = await backup(of, 'whole_again');
  await of.sync('whole_again');
  await restoreInPlace(of, 'whole_again');
  rows = [];
  expect(await rewind(of, 'whole_again', to)).toMatchObject({ status: 'partial', statsJson: { deleted: 0 } });
  expect(await of.live('whole_again')).toHaveLength(60);
  const forced = await of.backfill('whole_again', { rewindTo: to, force: true });
  expect(forced).toMatchObject({ status: 'succeeded', statsJson: { deleted: 60 } });
  expect(await of.live('whole_again')).toEqual([]);
});

test('what cannot be rewound is refused with the reason and the way out', async () => {
  const rows = () => [row(1, 1)];
  api.serve('kept', () => ({ body: rows() }));
  const versions = { key: 'kept', target: { table: 'kept', mode: 'append' } };
  await using of = await account({ key: 'refused', resources: [changes('refused', rows), versions] });
  await of.sync('refused');
  const now = new Date().toISOString();
  const asked = (body: object) => of.ask('POST', '/backfill', body);
  await expect(asked({ resource: 'kept', rewindTo: now })).rejects.toThrow('keeps every version');
  await expect(asked({ resource: 'refused', rewindTo: '2999-01-01T00:00:00Z' })).rejects.toThrow('a time in the past');
  await expect(asked({ resource: 'refused', rewindTo: now, from: at(0) })).rejects.toThrow('remove `from`');
  await expect(asked({ resource: 'refused', rewindTo: now })).rejects.toThrow('nothing to deliver again');
});

test('keeps the zeros of a text cursor, which only the API can compare', async () => {
  let texts = ['00000007', '00000008'];
  api.serve('texts', (query) => ({
    body: texts.filter((text) => text >= (query.get('since') ?? '')).map((text) => ({ id: Number(text), at: text })),
  }));
  const cursor = { field: 'at', type: 'string' };
  const resource = {
    key: 'texts',
    request: { path: '/texts', query: { since: '{{ watermark }}' } },
    incremental: { kind: 'cursor', cursor, order: 'asc' },
  };
  await using of = await account({ key: 'texts', resources: [resource] });
  await of.sync('texts');
  const to = new Date().toISOString();
  texts = [...texts, '00000012'];
  expect(await of.sync('texts')).toMatchObject({ watermarkBefore: '00000008', watermarkAfter: '00000012' });
  expect(await rewind(of, 'texts', to)).toMatchObject({ watermarkBefore: '00000008', statsJson: { recordsOut: 2 } });
  texts = [...texts, '00000013'];
  await of.sync('texts');
  expect(await of.live('texts')).toEqual(['12', '13', '7', '8']);
});

test('a rewind reads a partition from its beginning if its first read began after the copy', async () => {
  const rows: Record<string, readonly Row[]> = { a: [row(1, 1), row(2, 9)], b: [row(3, 2), row(4, 3)] };
  const resource = {
    ...changes('regions', () => []),
    forEach: [{ as: 'region', values: '{{ params.regions }}' }],
    request: { path: '/regions', query: { since: '{{ window.from }}', region: '{{ each.region }}' } },
  };
  api.serve('regions', (query) => ({
    body: (rows[query.get('region') ?? ''] ?? []).filter((each) => each.at >= (query.get('since') ?? '')),
  }));
  await using of = await account({ key: 'regions', resources: [resource], params: { regions: ['a'] } });
  await of.sync('regions');
  const to = await backup(of, 'regions');
  await of.ask('PATCH', '', { params: { regions: ['a', 'b'] } });
  await of.sync('regions');
  expect(await of.live('regions')).toEqual(['1', '2', '3', '4']);
  await restoreInPlace(of, 'regions');
  expect(await rewind(of, 'regions', to)).toMatchObject({ status: 'succeeded' });
  expect(await of.live('regions')).toEqual(['1', '2', '3', '4']);
});
