import { describe, expect, it } from 'vitest';
import { holdWrites } from '../support/service/sql-gate.ts';
import { useAccounts } from '../support/sync/use-accounts.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const { account, shared } = useAccounts(api);

const day = (no: number) => new Date(Date.UTC(2025, 0, no)).toISOString();

interface Row {
  readonly id: number;
  readonly at?: string;
}

const incremental = {
  ...{ kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc', settle: 'PT0S' },
} as const;

/** A resource with a list of deleted records, read from its cursor on unless it has none. */
function openList(key: string, { hasCursor = true, ...deletes }: Readonly<Record<string, unknown>> = {}) {
  const state: { rows: readonly Row[]; gone: readonly Readonly<Record<string, unknown>>[] } = { rows: [], gone: [] };
  api.serve(key, (query) => {
    const since = query.get('since') ?? '';
    return { body: state.rows.filter(({ at = '' }) => !hasCursor || at >= since) };
  });
  api.serve(`${key}-gone`, () => ({ body: state.gone }));
  const resource = {
    key,
    request: { path: `/${key}`, query: { since: '{{ window.from }}' } },
    ...(hasCursor === true && { incremental }),
    deletes: { mode: 'endpoint', request: { path: `/${key}-gone` }, key: 'id', ...deletes },
  };
  return { state, resource };
}

describe('a record that was deleted and created again', () => {
  it.each([
    ['with a cursor', 'again_cursor', {}],
    ['read in full', 'again_full', { hasCursor: false }],
    ['with the times of deletions', 'again_times', { at: 'deleted_at' }],
  ])('lives on however long the list has it, and is deleted once more when it is gone: %s', async (_, key, deletes) => {
    const { state, resource } = openList(key, deletes);
    await using of = await account({ key: key.replace('_', '-'), resources: [resource] });
    state.rows = [1, 2].map((id) => ({ id, at: day(id) }));
    await of.sync(key);
    state.rows = [{ id: 2, at: day(2) }];
    state.gone = [{ id: 1, deleted_at: day(3) }];
    expect(await of.sync(key)).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1 } });
    state.rows = [
      { id: 2, at: day(2) },
      { id: 1, at: day(4) },
    ];
    for (const recordsOut of [1, 0, 0]) {
      expect(await of.sync(key)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut, deleted: 0 } });
      expect(await of.live(key)).toEqual(['1', '2']);
    }
    state.rows = [{ id: 2, at: day(2) }];
    // Without times and in changes, the list shows it by leaving it out meanwhile.
    state.gone = [];
    await of.sync(key);
    state.gone = [{ id: 1, deleted_at: day(5) }];
    expect(await of.sync(key)).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1 } });
    expect(await of.live(key)).toEqual(['2']);
  });

  it('between two runs lives, although its deletion was never applied', async () => {
    const { state, resource } = openList('between');
    await using of = await account({ key: 'between', resources: [resource] });
    state.rows = [1, 2].map((id) => ({ id, at: day(id) }));
    await of.sync('between');
    state.rows = [
      { id: 2, at: day(2) },
      { id: 1, at: day(4) },
    ];
    state.gone = [{ id: 1 }];
    expect(await of.sync('between')).toMatchObject({ status: 'succeeded', notes: { deletes_pending: 1 } });
    for (let time = 0; time < 3; time += 1) {
      expect(await of.sync('between')).toMatchObject({ status: 'succeeded', notes: {}, statsJson: { deleted: 0 } });
      expect(await of.live('between')).toEqual(['1', '2']);
    }
    expect(await of.watermarks('between')).toEqual({ '': day(4) });
  });

  it('before the first run lives', async () => {
    const { state, resource } = openList('before');
    await using of = await account({ key: 'before', resources: [resource] });
    state.rows = [1, 2].map((id) => ({ id, at: day(id) }));
    state.gone = [{ id: 1 }, { id: 7 }];
    for (let time = 0; time < 3; time += 1) {
      expect(await of.sync('before')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 0 } });
      expect(await of.live('before')).toEqual(['1', '2']);
    }
  });
});

describe('a record that is deleted between the read and the list', () => {
  it('is deleted by the next run', async () => {
    const { state, resource } = openList('late');
    await using of = await account({ key: 'late', resources: [resource] });
    state.rows = [1, 2, 3].map((id) => ({ id, at: day(id) }));
    await of.sync('late');
    const rows = [...state.rows, { id: 4, at: day(4) }];
    api.serve('late', () => {
      state.gone = [{ id: 4 }];
      return { body: rows };
    });
    expect(await of.sync('late')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 0 } });
    api.serve('late', (query) => ({
      body: state.rows.filter(({ at = '' }) => at >= (query.get('since') ?? '')),
    }));
    expect(await of.sync('late')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1 } });
    expect(await of.live('late')).toEqual(['1', '2', '3']);
  });

  it('is deleted in a first run', async () => {
    const { state, resource } = openList('first');
    await using of = await account({ key: 'first', resources: [resource] });
    api.serve('first', () => {
      state.gone = [{ id: 2 }];
      return { body: [1, 2].map((id) => ({ id, at: day(id) })) };
    });
    expect(await of.sync('first')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1 } });
    expect(await of.live('first')).toEqual(['1']);
  });
});

describe('the key of a deleted record', () => {
  it('of several fields is a list of values, numbers as text, too', async () => {
    const { state, resource } = openList('composite', { hasCursor: false, key: '[a, b]' });
    await using of = await account({ key: 'composite', resources: [{ ...resource, primaryKey: ['a', 'b'] }] });
    const rows = [1, 2].flatMap((a) => ['x', 'y'].map((b) => ({ a, b })));
    api.serve('composite', () => ({ body: rows }));
    await of.sync('composite');
    expect(await of.live('composite')).toEqual(['[1,"x"]', '[1,"y"]', '[2,"x"]', '[2,"y"]']);
    rows.shift();
    state.gone = [{ a: '1', b: 'x' }];
    expect(await of.sync('composite')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1 } });
    expect(await of.live('composite')).toEqual(['[1,"y"]', '[2,"x"]', '[2,"y"]']);
    expect(await of.sync('composite')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 0, deleted: 0 } });
  });

  it('of one field may be in a list', async () => {
    const { state, resource } = openList('enclosed', { hasCursor: false, key: '[a]' });
    await using of = await account({ key: 'enclosed', resources: [resource] });
    state.rows = [{ id: 1 }, { id: 2 }];
    await of.sync('enclosed');
    state.rows = [{ id: 2 }];
    state.gone = [{ a: '1' }];
    expect(await of.sync('enclosed')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1 } });
    expect(await of.live('enclosed')).toEqual(['2']);
  });
});

describe('the time of a deletion', () => {
  it('is compared with the version that is known: one from before it is not deleted, one of the same time once', async () => {
    const { state, resource } = openList('timed', { at: 'deleted_at' });
    await using of = await account({ key: 'timed', resources: [resource] });
    state.rows = [1, 2, 3].map((id) => ({ id, at: day(5) }));
    state.gone = [
      { id: 1, deleted_at: day(4) },
      { id: 2, deleted_at: day(5) },
      { id: 3, deleted_at: day(6) },
      { id: 3, deleted_at: day(1) },
    ];
    expect(await of.sync('timed')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 2 } });
    expect(await of.live('timed')).toEqual(['1']);
    // All of them are read again as they were: none was changed since it was deleted.
    for (let time = 0; time < 2; time += 1) {
      await of.sync('timed');
      expect(await of.live('timed')).toEqual(['1', '2', '3']);
    }
  });

  it('that is none fails the run', async () => {
    const { state, resource } = openList('untimed', { at: 'deleted_at' });
    await using of = await account({ key: 'untimed', resources: [resource] });
    state.gone = [{ id: 1, deleted_at: 'yesterday' }];
    expect(await of.sync('untimed')).toMatchObject({ status: 'failed', error: { code: 'source_rejected' } });
  });
});

describe('the list of one partition', () => {
  const members: Record<string, readonly Row[]> = {};
  const left: Record<string, readonly Row[]> = {};
  api.serve('members', (query) => {
    const since = query.get('since') ?? '';
    return { body: (members[query.get('group') ?? ''] ?? []).filter(({ at = '' }) => at >= since) };
  });
  api.serve('members-gone', (query, { headers }) => {
    const body = left[query.get('group') ?? ''] ?? [];
    const etag = `"${query.get('group')}${JSON.stringify(body).replaceAll('"', '')}"`;
    return headers['if-none-match'] === etag ? { status: 304, headers: { etag } } : { headers: { etag }, body };
  });
  const resourceOf = (key: string, hasCursor: boolean) => ({
    key,
    forEach: [{ as: 'group', values: '{{ params.groups }}' }],
    request: { path: '/members', query: { since: '{{ window.from }}', group: '{{ each.group }}' } },
    ...(hasCursor && { incremental }),
    deletes: { mode: 'endpoint', request: { path: '/members-gone', query: { group: '{{ each.group }}' } }, key: 'id' },
  });

  it.each([
    ['in full', 'part_full', false],
    ['from a cursor on', 'part_cursor', true],
  ])('deletes a record once no other one has it, read %s', async (_, key, hasCursor) => {
    const params = { groups: ['b', 'a'] };
    await using of = await account({ key: key.replace('_', '-'), resources: [resourceOf(key, hasCursor)], params });
    const x = { id: 1, at: day(1) };
    Object.assign(members, { a: [x, { id: 2, at: day(2) }], b: [x, { id: 3, at: day(2) }] });
    Object.assign(left, { a: [], b: [] });
    await of.sync(key);
    members['a'] = [{ id: 2, at: day(2) }];
    left['a'] = [{ id: 1 }];
    for (let time = 0; time < 3; time += 1) {
      const quiet = { status: 'succeeded', statsJson: { recordsOut: 0, deleted: 0 } };
      expect(await of.sync(key)).toMatchObject(quiet);
      expect(await of.live(key)).toEqual(['1', '2', '3']);
    }
    left['a'] = [];
    members['b'] = [{ id: 3, at: day(2) }];
    left['b'] = [{ id: 1 }];
    expect(await of.sync(key)).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1 } });
    expect(await of.live(key)).toEqual(['2', '3']);
    expect(await of.sync(key)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 0, deleted: 0 } });
  });

  it('deletes no record that another one has whose list has not changed', async () => {
    const cached = resourceOf('part_cached', true);
    const deletes = { ...cached.deletes, request: { ...cached.deletes.request, cache: { mode: 'conditional' } } };
    const params = { groups: ['b', 'a'] };
    await using of = await account({ key: 'part-cached', resources: [{ ...cached, deletes }], params });
    const x = { id: 1, at: day(1) };
    Object.assign(members, { a: [x, { id: 2, at: day(2) }], b: [x, { id: 3, at: day(2) }] });
    Object.assign(left, { a: [], b: [] });
    for (let time = 0; time < 2; time += 1) await of.sync('part_cached');
    members['a'] = [{ id: 2, at: day(2) }];
    left['a'] = [{ id: 1 }];
    for (let time = 0; time < 2; time += 1) await of.sync('part_cached');
    expect(await of.live('part_cached')).toEqual(['1', '2', '3']);
  });

  it('deletes what a partition alone had that is there no more, and reads that anew when it is back', async () => {
    const params = { groups: ['b', 'a'] };
    await using of = await account({ key: 'part-left', resources: [resourceOf('part_left', true)], params });
    const x = { id: 1, at: day(1) };
    Object.assign(members, { a: [x, { id: 2, at: day(2) }], b: [x, { id: 3, at: day(2) }] });
    Object.assign(left, { a: [], b: [] });
    await of.sync('part_left');
    await expect(of.ask('PATCH', '', { params: { groups: ['b'] } })).rejects.toThrow('allowDeletes');
    await of.ask('PATCH', '', { params: { groups: ['b'] }, allowDeletes: true });
    members['b'] = [{ id: 3, at: day(2) }];
    left['b'] = [{ id: 1 }];
    for (let time = 0; time < 2; time += 1) await of.sync('part_left');
    expect(await of.live('part_left')).toEqual(['2', '3']);
    await of.ask('PATCH', '', { params });
    for (let time = 0; time < 2; time += 1) expect(await of.sync('part_left')).toMatchObject({ status: 'succeeded' });
    expect(await of.live('part_left')).toEqual(['1', '2', '3']);
  });
});

describe('the brake', () => {
  const rows = Array.from({ length: 30 }, (_, id) => ({ id, at: day(1) }));

  it('holds back what lists name at once, until a forced backfill lifts it; a rewind does not', async () => {
    const { state, resource } = openList('braked', { maxRatio: 0.3, minRecords: 5 });
    await using of = await account({ key: 'braked', resources: [resource] });
    state.rows = rows;
    await of.sync('braked');
    state.rows = rows.slice(10);
    state.gone = rows.slice(0, 10);
    const held = { status: 'partial', notes: { deletes_held_back: 1 }, statsJson: { deleted: 0 } };
    expect(await of.sync('braked')).toMatchObject(held);
    expect(await of.sync('braked')).toMatchObject(held);
    expect(await of.backfill('braked', { rewind: true })).toMatchObject({
      status: 'partial',
      statsJson: { deleted: 0 },
    });
    expect(await of.backfill('braked', { force: true })).toMatchObject({ statsJson: { deleted: 10 } });
    expect(await of.live('braked')).toHaveLength(20);
    expect(await of.sync('braked')).toMatchObject({ status: 'succeeded', notes: {}, statsJson: { deleted: 0 } });
  });

  it('lets go when the list no longer names them', async () => {
    const { state, resource } = openList('mended', { maxRatio: 0.3, minRecords: 5, stopWhen: 'last.at < watermark' });
    await using of = await account({ key: 'mended', resources: [resource] });
    state.rows = [...rows, { id: 99, at: day(2) }];
    await of.sync('mended');
    state.gone = rows.slice(0, 10).map((row) => ({ ...row, at: day(3) }));
    expect(await of.sync('mended')).toMatchObject({ status: 'partial' });
    state.gone = [{ id: 0, at: day(3) }];
    expect(await of.sync('mended')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1 } });
    expect(await of.sync('mended')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 0 } });
    expect(await of.live('mended')).toHaveLength(30);
  });

  it('counts known and live records only', async () => {
    const { state, resource } = openList('unknown', { maxRatio: 0.1, minRecords: 3 });
    await using of = await account({ key: 'unknown', resources: [resource] });
    state.rows = rows;
    await of.sync('unknown');
    state.rows = rows.slice(2);
    state.gone = [...rows.slice(0, 2), ...Array.from({ length: 3000 }, (_, no) => ({ id: 1000 + no }))];
    expect(await of.sync('unknown')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 2 } });
    expect(await of.sync('unknown')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 0 } });
  });

  it('goes on with its deletions when its worker dies', async () => {
    const many = Array.from({ length: 2600 }, (_, id) => ({ id, at: day(1) }));
    const { state, resource } = openList('killed', { maxRatio: 1, effect: 'hard' });
    await using of = await account({ key: 'killed', resources: [resource] });
    state.rows = many;
    await of.sync('killed');
    await of.destination.audit('killed');
    state.rows = many.slice(0, 1);
    state.gone = many.slice(1);
    const { stack } = shared();
    await using gate = await holdWrites(stack.databaseUrl, {
      ...{ table: 'run_pages', on: 'insert', when: 'new.deleted > 0' },
    });
    const runId = await of.request('killed');
    await gate.reached();
    await stack.killWorker('SIGKILL');
    await gate.open();
    await stack.startWorker();
    expect(await of.ended(runId)).toMatchObject({ status: 'succeeded', statsJson: { deleted: 2599 } });
    expect(await of.live('killed')).toEqual(['0']);
    expect(await of.destination.writes()).toMatchObject({ deletes: 2599 });
  });
});
