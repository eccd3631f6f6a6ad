import { describe, expect, it } from 'vitest';
import { useSharedAccounts } from '../support/sync/use-accounts.ts';
import { ago, byToken, dayMs } from '../support/sync/use-connections.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const { account, shared } = useSharedAccounts(api);

/** Oldest first by `at`, from the moment of the first run on. */
const fromNow = {
  ...{ kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc', settle: 'PT0S' },
  initial: 'now-PT0S',
} as const;

const { initial: _, ...always } = fromNow;

/** `since` of every request to a path, oldest first. */
const starts = (key: string): readonly (string | null)[] =>
  shared()
    .upstream.journal.filter(({ url }) => url.split(/[/?]/)[1] === key)
    .map(({ url }) => new URLSearchParams(url.split('?')[1]).get('since'));

/** A path whose rows since the start of the request come in the order of `at`. */
const serve = (key: string, rows: readonly { readonly at: string }[], isDown: () => boolean = () => false): void =>
  api.serve(key, (query) =>
    isDown() ? { status: 400 } : { body: rows.filter(({ at }) => at >= (query.get('since') ?? '')) },
  );

const resourceOf = (key: string, parts: Readonly<Record<string, unknown>> = {}) => ({
  ...{ key, request: { path: `/${key}`, query: { since: '{{ window.from }}' } }, incremental: fromNow },
  ...parts,
});

describe('where a first read began', () => {
  it('every later one begins until there is a record: one that comes in between is read', async () => {
    const rows: { id: number; at: string }[] = [];
    serve('begun', rows);
    await using of = await account({ key: 'begun', resources: [resourceOf('begun')] });
    expect((await of.sync('begun')).status).toBe('succeeded');
    const [start] = starts('begun');
    rows.push({ id: 1, at: start ?? '' });
    expect(await of.sync('begun')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
    expect(starts('begun')).toEqual([start, start]);
  });

  it('holds although the first run failed before its first page', async () => {
    let isDown = true;
    const rows: { id: number; at: string }[] = [];
    serve('down', rows, () => isDown);
    await using of = await account({ key: 'down', resources: [resourceOf('down')] });
    expect((await of.sync('down')).status).toBe('failed');
    const [start] = starts('down');
    rows.push({ id: 1, at: start ?? '' });
    isDown = false;
    expect(await of.sync('down')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
    expect(new Set(starts('down'))).toEqual(new Set([start]));
  });

  it('is that of each partition', async () => {
    let isDown = true;
    api.serve('parted', (query) => (isDown && query.get('part') === 'b' ? { status: 400 } : { body: [] }));
    const query = { since: '{{ window.from }}', part: '{{ each.part }}' };
    const parted = resourceOf('parted', {
      request: { path: '/parted', query },
      forEach: [{ as: 'part', values: '{{ params.parts }}' }],
    });
    await using of = await account({ key: 'parted', resources: [parted], params: { parts: ['a', 'b'] } });
    expect((await of.sync('parted')).status).toBe('failed');
    isDown = false;
    expect((await of.sync('parted')).status).toBe('succeeded');
    expect(new Set(starts('parted')).size).toBe(1);
  });

  it('is kept by a run that sets everything back', async () => {
    const rows: { id: number; at: string }[] = [];
    serve('rewound', rows);
    await using of = await account({ key: 'rewound', resources: [resourceOf('rewound')] });
    const { startedAt } = await of.sync('rewound');
    const [start] = starts('rewound');
    rows.push({ id: 1, at: start ?? '' });
    await of.sync('rewound');
    const rewound = await of.backfill('rewound', { rewindTo: startedAt });
    expect(rewound).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
    expect(starts('rewound').at(-1)).toBe(start);
  });
});

describe('an API that forgets changes after 30 days', () => {
  const retention = { maxAge: 'P30D' };
  const quiet = (key: string, parts: Readonly<Record<string, unknown>> = {}) =>
    resourceOf(key, { incremental: { ...always, retention, ...parts } });

  const age = (connectionId: string) =>
    shared()
      .stack.db.updateTable('partitions')
      .set({ readAt: ago(40 * dayMs) })
      .where('laneId', 'in', (eb) => eb.selectFrom('lanes').select('id').where('connectionId', '=', connectionId))
      .execute();

  it('is read on, however old its last change is, while it was read to its end since', async () => {
    const rows = [{ id: 1, at: ago(60 * dayMs) }];
    serve('calm', rows);
    await using of = await account({ key: 'calm', resources: [quiet('calm')] });
    for (let no = 0; no < 3; no += 1) expect((await of.sync('calm')).status).toBe('succeeded');
    rows.push({ id: 2, at: ago(dayMs) });
    expect(await of.sync('calm')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
  });

  it('fails after a longer pause; a backfill from before that time, which the error names, ends that', async () => {
    const rows = [{ id: 1, at: ago(60 * dayMs) }];
    serve('gap', rows);
    await using of = await account({ key: 'gap', resources: [quiet('gap')] });
    await of.sync('gap');
    await age(of.connectionId);
    const failed = await of.sync('gap');
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'source_rejected' } });
    expect(failed.error?.message).toContain('Run a backfill from before that time');
    rows.push({ id: 2, at: ago(20 * dayMs) }, { id: 3, at: ago(dayMs) });
    expect((await of.backfill('gap', { from: ago(10 * dayMs) })).status).toBe('succeeded');
    expect((await of.sync('gap')).status).toBe('failed');
    expect(await of.backfill('gap')).toMatchObject({ status: 'succeeded', watermarkAfter: rows[2]?.at });
    expect(await of.live('gap')).toEqual(['1', '2', '3']);
    expect((await of.sync('gap')).status).toBe('succeeded');
  });

  it('is read in full where the spec says so, and what it lacks then is deleted', async () => {
    const rows = [{ id: 1, at: ago(60 * dayMs) }];
    serve('full', rows);
    const full = quiet('full', { retention: { ...retention, onExceeded: 'full' } });
    const deletes = { mode: 'flag', when: 'gone = true' };
    await using of = await account({ key: 'full', resources: [{ ...full, deletes }] });
    await of.sync('full');
    await age(of.connectionId);
    rows.splice(0, 1, { id: 2, at: ago(40 * dayMs) }, { id: 3, at: ago(39 * dayMs) });
    const read = { recordsIn: 2, recordsOut: 2, deleted: 1 };
    expect(await of.sync('full')).toMatchObject({ status: 'succeeded', statsJson: read, notes: {} });
    expect(await of.live('"full"')).toEqual(['2', '3']);
    expect(starts('full').at(-1)).toBeNull();
    expect(await of.sync('full')).toMatchObject({ status: 'succeeded', notes: {} });
  });
});

describe('a full read after an expired token', () => {
  const openFeed = (key: string, incremental: Readonly<Record<string, unknown>> = {}) => {
    const state = { current: 't1', ids: [1, 2], page: {} as Readonly<Record<string, unknown>>, asked: 0 };
    api.serve(key, (query) => {
      state.asked += 1;
      const token = query.get('token');
      if (token !== null && token !== state.current && token !== 'begin') return { status: 410 };
      const data = token === state.current ? [] : state.ids.map((id) => ({ id }));
      return { body: { data, token: state.current, ...state.page } };
    });
    const feed = {
      ...{ key, request: { path: `/${key}`, query: { token: '{{ watermark }}' } } },
      ...{ response: { records: 'data' }, incremental: { kind: 'token', next: 'body.token', ...incremental } },
      deletes: { mode: 'flag', when: 'gone = true' },
    };
    return { state, feed };
  };

  it('deletes what was deleted meanwhile', async () => {
    const { state, feed } = openFeed('feed');
    await using of = await account({ key: 'feed', resources: [feed] });
    expect((await of.sync('feed')).status).toBe('succeeded');
    Object.assign(state, { current: 't2', ids: [2, 3] });
    const read = { status: 'succeeded', statsJson: { recordsOut: 1, deleted: 1 }, watermarkAfter: 't2' };
    expect(await of.sync('feed')).toMatchObject({ ...read, notes: { token_expired: 1 } });
    expect(await of.live('feed')).toEqual(['2', '3']);
    expect(await of.watermarks('feed')).toEqual({ '': 't2' });
    expect(await of.sync('feed')).toMatchObject({ status: 'succeeded', notes: {}, statsJson: { recordsIn: 0 } });
  });

  it.each([
    ['an entry without a key', [{ id: 2 }, { name: 'no key' }]],
    ['no page of the counted size', [{ id: 2 }]],
  ])('that has a gap, %s, is made by each run until it is whole', async (gap, data) => {
    const key = gap.replaceAll(' ', '_');
    const { state, feed } = openFeed(key);
    const response = { records: 'data', total: 'body.total' };
    await using of = await account({
      key: key.replaceAll('_', '-'),
      resources: [{ ...feed, response, onInvalid: 'quarantine' }],
    });
    await of.sync(key);
    Object.assign(state, { current: 't2', ids: [2], page: { data, total: 2 } });
    for (let time = 0; time < 2; time += 1) {
      expect(await of.sync(key)).toMatchObject({ status: 'partial', notes: { token_expired: 1 } });
      expect(await of.live(key)).toEqual(['1', '2']);
    }
    Object.assign(state, { page: {} });
    expect(await of.sync(key)).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1 } });
    expect(await of.live(key)).toEqual(['2']);
    expect(await of.sync(key)).toMatchObject({ status: 'succeeded', notes: {}, statsJson: { recordsIn: 0 } });
  });

  it('of several partitions, of which one has an entry without a key, is made again for all of them', async () => {
    let current = 't1';
    const data: Record<string, object[]> = { a: [{ id: 1 }], b: [{ id: 2 }, { id: 3 }] };
    api.serve('keyless_groups', (query) => {
      const token = query.get('token');
      if (token !== null && token !== current) return { status: 410 };
      return { body: { data: token === current ? [] : data[query.get('group') ?? ''], token: current } };
    });
    const feed = {
      key: 'keyless_groups',
      request: { path: '/keyless_groups', query: { token: '{{ watermark }}', group: '{{ each.group }}' } },
      response: { records: 'data' },
      forEach: [{ as: 'group', values: '{{ params.groups }}' }],
      incremental: { kind: 'token', next: 'body.token' },
      deletes: { mode: 'flag', when: 'gone = true' },
      onInvalid: 'quarantine',
    };
    await using of = await account({ key: 'keyless-groups', resources: [feed], params: { groups: ['a', 'b'] } });
    await of.sync('keyless_groups');
    current = 't2';
    Object.assign(data, { a: [{ name: 'no key' }, { id: 1 }], b: [{ id: 2 }] });
    for (let time = 0; time < 2; time += 1) expect((await of.sync('keyless_groups')).status).toBe('partial');
    expect(await of.live('keyless_groups')).toEqual(['1', '2', '3']);
    Object.assign(data, { a: [{ id: 1 }] });
    expect(await of.sync('keyless_groups')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1 } });
    expect(await of.live('keyless_groups')).toEqual(['1', '2']);
  });

  it('that does not begin at the beginning says that what was deleted meanwhile is not known', async () => {
    const { state, feed } = openFeed('begun-feed', { initial: 'begin' });
    await using of = await account({ key: 'begun-feed', resources: [{ ...feed, target: { table: 'begun_feed' } }] });
    await of.sync('begun-feed');
    Object.assign(state, { current: 't2', ids: [2] });
    const unknown = { status: 'partial', notes: { token_expired: 1, deletes_unknown: 1 } };
    expect(await of.sync('begun-feed')).toMatchObject({ ...unknown, statsJson: { deleted: 0 } });
    expect(await of.sync('begun-feed')).toMatchObject({ status: 'succeeded', notes: {} });
  });

  it('is held back by the brake, and read again by each run until a forced backfill', async () => {
    const { state, feed } = openFeed('held');
    await using of = await account({ key: 'held', resources: [feed] });
    state.ids = Array.from({ length: 40 }, (_each, id) => id);
    await of.sync('held');
    Object.assign(state, { current: 't2', ids: [1, 2] });
    for (let time = 0; time < 2; time += 1) {
      const held = { status: 'partial', notes: { token_expired: 1, deletes_held_back: 1 }, statsJson: { deleted: 0 } };
      expect(await of.sync('held')).toMatchObject(held);
    }
    expect(await of.watermarks('held')).toEqual({ '': 't1' });
    expect(await of.backfill('held', { force: true })).toMatchObject({ statsJson: { deleted: 38 } });
    expect(await of.live('held')).toEqual(['1', '2']);
    expect(await of.sync('held')).toMatchObject({ status: 'succeeded', notes: {} });
  });

  it('deletes what a partition alone had that is there no more, and reads that anew when it is back', async () => {
    let current = 't1';
    const ids: Readonly<Record<string, number>> = { a: 1, b: 2 };
    api.serve('groups', (query) => {
      const token = query.get('token');
      if (token !== null && token !== current) return { status: 410 };
      const data = token === current ? [] : [{ id: ids[query.get('group') ?? ''] }];
      return { body: { data, token: current } };
    });
    const feed = {
      key: 'groups',
      request: { path: '/groups', query: { token: '{{ watermark }}', group: '{{ each.group }}' } },
      response: { records: 'data' },
      forEach: [{ as: 'group', values: '{{ params.groups }}' }],
      incremental: { kind: 'token', next: 'body.token' },
      deletes: { mode: 'flag', when: 'gone = true' },
    };
    const params = { groups: ['a', 'b'] };
    await using of = await account({ key: 'groups', resources: [feed], params });
    await of.sync('groups');
    current = 't2';
    await of.ask('PATCH', '', { params: { groups: ['b'] }, allowDeletes: true });
    expect(await of.sync('groups')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1 } });
    expect(await of.live('groups')).toEqual(['2']);
    await of.ask('PATCH', '', { params });
    for (let time = 0; time < 2; time += 1) expect(await of.sync('groups')).toMatchObject({ status: 'succeeded' });
    expect(await of.live('groups')).toEqual(['1', '2']);
  });

  it('that a run did not finish deletes nothing, and the next one reads everything again', async () => {
    const { state, feed } = openFeed('unended');
    const pagination = { kind: 'cursor', next: 'body.next', inject: { in: 'query', name: 'page' } };
    await using of = await account({ key: 'unended', resources: [{ ...feed, pagination }] });
    await of.sync('unended');
    Object.assign(state, { current: 't2', ids: [2] });
    api.serve('unended', (query) => {
      if (query.get('token') === 't1') return { status: 410 };
      return query.get('page') === null ? { body: { data: [{ id: 2 }], next: 'x' } } : { status: 400 };
    });
    expect(await of.sync('unended')).toMatchObject({ status: 'failed', statsJson: { deleted: 0 } });
    api.serve('unended', (query) =>
      query.get('token') === 't1' ? { status: 410 } : { body: { data: [{ id: 2 }], token: 't2' } },
    );
    expect(await of.sync('unended')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1 } });
    expect(await of.live('unended')).toEqual(['2']);
  });
});

describe('a list of deleted records that ends at the watermark', () => {
  const day = (no: number) => new Date(Date.UTC(2025, 0, no)).toISOString();

  it('is read whole at first, then to what is known, also when a run failed before it', async () => {
    const rows = [1, 2, 3, 4, 5].map((id) => ({ id, at: day(id) }));
    serve('kept', rows);
    const deleted: { id: number; deleted_at: string }[] = [];
    let isDown = false;
    api.serve('gone', (query) => {
      if (isDown) return { status: 400 };
      const page = Number(query.get('page') ?? 1);
      const data = deleted.toReversed().slice(page - 1, page);
      return { body: { data, next: page < deleted.length ? page + 1 : null } };
    });
    const deletes = {
      ...{ mode: 'endpoint', request: { path: '/gone' }, records: 'data', key: 'id', pagination: byToken },
      ...{ stopWhen: 'last.deleted_at < watermark', at: 'deleted_at', effect: 'hard' },
    };
    const kept = resourceOf('kept', { incremental: always, deletes });
    await using of = await account({ key: 'kept', resources: [kept] });
    deleted.push({ id: 1, deleted_at: day(2) }, { id: 2, deleted_at: day(3) });
    expect(await of.sync('kept')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 2 } });

    rows.push({ id: 6, at: day(9) });
    deleted.push({ id: 3, deleted_at: day(7) });
    isDown = true;
    expect((await of.sync('kept')).status).toBe('failed');
    isDown = false;
    const before = starts('gone').length;
    expect(await of.sync('kept')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1 } });
    expect(starts('gone').length - before).toBe(2);
    expect(await of.live('kept')).toEqual(['4', '5', '6']);
    expect((await of.sync('kept')).status).toBe('succeeded');
    expect(starts('gone').length - before).toBe(3);
  });
});
