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

  it('is read in full where the spec says so; what was deleted meanwhile is not known, and the run says that', async () => {
    const rows = [{ id: 1, at: ago(60 * dayMs) }];
    serve('full', rows);
    const full = quiet('full', { retention: { ...retention, onExceeded: 'full' } });
    const deletes = { mode: 'flag', when: 'gone = true' };
    await using of = await account({ key: 'full', resources: [{ ...full, deletes }] });
    await of.sync('full');
    await age(of.connectionId);
    rows.push({ id: 2, at: ago(40 * dayMs) });
    const read = { recordsIn: 2, recordsOut: 1, skipped: 1 };
    expect(await of.sync('full')).toMatchObject({ status: 'partial', statsJson: read, notes: { deletes_unknown: 1 } });
    expect(starts('full').at(-1)).toBeNull();
    expect(await of.sync('full')).toMatchObject({ status: 'succeeded', notes: {} });
  });
});

it('a full read after an expired token says that what was deleted meanwhile is not known', async () => {
  let current = 't1';
  api.serve('feed', (query) => {
    const token = query.get('token');
    return token === null || token === current ? { body: { data: [{ id: 1 }], token: current } } : { status: 410 };
  });
  const feed = {
    ...{ key: 'feed', request: { path: '/feed', query: { token: '{{ watermark }}' } } },
    ...{ response: { records: 'data' }, incremental: { kind: 'token', next: 'body.token' } },
    deletes: { mode: 'flag', when: 'gone = true' },
  };
  await using of = await account({ key: 'feed', resources: [feed] });
  expect((await of.sync('feed')).status).toBe('succeeded');
  current = 't2';
  expect(await of.sync('feed')).toMatchObject({ status: 'partial', notes: { token_expired: 1, deletes_unknown: 1 } });
  expect(await of.sync('feed')).toMatchObject({ status: 'succeeded', notes: {} });
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
