import { describe, expect, it } from 'vitest';
import { useSharedAccounts } from '../support/sync/use-accounts.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const { account } = useSharedAccounts(api);

const day = (no: number) => new Date(Date.UTC(2025, 0, no)).toISOString();
const ids = (count: number, from = 1) => Array.from({ length: count }, (_, index) => index + from);

interface Row {
  readonly id: number;
  readonly at: string;
  readonly state?: string;
}

/** A resource whose records say that they are deleted, or leave a filter. */
function openRecords(key: string, parts: Readonly<Record<string, unknown>>) {
  const served: { rows: readonly Row[] } = { rows: [] };
  api.serve(key, (query) => ({ body: served.rows.filter(({ at }) => at >= (query.get('since') ?? '')) }));
  const isIncremental = (parts['deletes'] as { readonly mode: string }).mode !== 'full_scan';
  const resource = {
    key,
    request: { path: `/${key}`, ...(isIncremental && { query: { since: '{{ window.from }}' } }) },
    ...(isIncremental && {
      incremental: { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc', settle: 'PT0S' },
    }),
    ...parts,
  };
  return { served, resource };
}

const flag = { deletes: { mode: 'flag', when: "state = 'gone'" } };
const forms = [
  ['flags', 'braked_flags', flag],
  ['a filter beside flags', 'braked_filter', { ...flag, filter: "state != 'gone'" }],
  ['a filter beside a full scan', 'braked_scan', { deletes: { mode: 'full_scan' }, filter: "state != 'gone'" }],
] as const;

describe('the brake', () => {
  it.each(forms)('holds back too many deletions by %s until a forced backfill', async (_, key, parts) => {
    const { served, resource } = openRecords(key, parts);
    await using of = await account({ key: key.replace('_', '-'), resources: [resource] });
    served.rows = ids(40).map((id) => ({ id, at: day(1), state: 'live' }));
    await of.sync(key);
    served.rows = ids(40).map((id) => ({ id, at: day(2), state: id > 15 ? 'gone' : 'live' }));
    const held = { status: 'partial', notes: { deletes_held_back: 1 }, statsJson: { deleted: 0 } };
    expect(await of.sync(key)).toMatchObject(held);
    expect(await of.sync(key)).toMatchObject(held);
    expect(await of.live(key)).toHaveLength(40);
    expect(await of.backfill(key, { force: true })).toMatchObject({ status: 'succeeded', statsJson: { deleted: 25 } });
    expect(await of.live(key)).toHaveLength(15);
    expect(await of.sync(key)).toMatchObject({ status: 'succeeded', statsJson: { deleted: 0, recordsOut: 0 } });
  });

  it('holds back what a read of everything no longer shows, until a forced backfill', async () => {
    const key = 'braked_start';
    const { served, resource } = openRecords(key, flag);
    await using of = await account({ key: 'braked-start', resources: [resource] });
    served.rows = ids(40).map((id) => ({ id, at: day(1) }));
    await of.sync(key);
    const query = { since: '{{ window.from }}', area: 'us' };
    await of.upgrade('1.1.0', [{ ...resource, request: { path: `/${key}`, query } }]);
    served.rows = ids(15).map((id) => ({ id, at: day(1) }));
    const held = { status: 'partial', notes: { deletes_held_back: 1 } };
    expect(await of.sync(key)).toMatchObject(held);
    expect(await of.sync(key)).toMatchObject(held);
    expect(await of.backfill(key, { force: true })).toMatchObject({ status: 'succeeded', statsJson: { deleted: 25 } });
    expect(await of.live(key)).toHaveLength(15);
    expect(await of.sync(key)).toMatchObject({ status: 'succeeded', statsJson: { deleted: 0, recordsOut: 0 } });
  });

  it.each(forms)('forgets what is taken back of deletions by %s', async (_, key, parts) => {
    const { served, resource } = openRecords(`${key}_back`, parts);
    await using of = await account({ key: `${key.replace('_', '-')}-back`, resources: [resource] });
    const sync = () => of.sync(`${key}_back`);
    const all = (no: number, state: (id: number) => string) =>
      ids(40).map((id) => ({ id, at: day(no), state: state(id) }));
    served.rows = all(1, () => 'live');
    await sync();
    served.rows = all(2, () => 'gone');
    expect(await sync()).toMatchObject({ status: 'partial', statsJson: { deleted: 0 } });
    served.rows = all(3, (id) => (id > 38 ? 'gone' : 'live'));
    expect(await sync()).toMatchObject({ status: 'succeeded', statsJson: { deleted: 2 } });
    expect(await of.live(`${key}_back`)).toHaveLength(38);
    expect(await sync()).toMatchObject({ status: 'succeeded', statsJson: { deleted: 0, recordsOut: 0 } });
  });

  it('takes an older version for no sign of life of a record whose deletion it holds back', async () => {
    const { served, resource } = openRecords('braked_old', {
      ...flag,
      incremental: { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'none', settle: 'PT0S' },
      request: { path: '/braked_old' },
    });
    await using of = await account({ key: 'braked-old', resources: [resource] });
    const of40 = (no: number, state: string) => ids(40).map((id) => ({ id, at: day(no), state }));
    served.rows = of40(1, 'live');
    await of.sync('braked_old');
    served.rows = of40(3, 'gone');
    expect(await of.sync('braked_old')).toMatchObject({ status: 'partial' });
    served.rows = of40(2, 'live');
    expect(await of.sync('braked_old')).toMatchObject({ status: 'partial', statsJson: { recordsOut: 0 } });
    served.rows = of40(3, 'gone');
    await of.backfill('braked_old', { force: true });
    expect(await of.live('braked_old')).toEqual([]);
  });

  it('counts what flags and what a filter delete together', async () => {
    const { served, resource } = openRecords('braked_both', { ...flag, filter: "state != 'hidden'" });
    await using of = await account({ key: 'braked-both', resources: [resource] });
    const states = (id: number) => (id <= 12 ? 'gone' : id <= 24 ? 'hidden' : 'live');
    served.rows = ids(40).map((id) => ({ id, at: day(1), state: 'live' }));
    await of.sync('braked_both');
    served.rows = ids(40).map((id) => ({ id, at: day(2), state: states(id) }));
    expect(await of.sync('braked_both')).toMatchObject({ status: 'partial', statsJson: { deleted: 0 } });
    expect(await of.live('braked_both')).toHaveLength(40);
  });
});

describe('records that leave the filter of an upgrade', () => {
  it.each([
    ['a full scan', 'narrowed_scan', { deletes: { mode: 'full_scan' } }],
    ['a cursor and flags', 'narrowed_flags', flag],
  ])('are deleted by the next run, and the one after it is quiet: %s', async (_, key, parts) => {
    const { served, resource } = openRecords(key, { ...parts, filter: "state != 'draft'" });
    await using of = await account({ key: key.replace('_', '-'), resources: [resource] });
    served.rows = ids(6).map((id) => ({ id, at: day(id), state: id > 4 ? 'old' : 'live' }));
    await of.sync(key);
    const { plan } = await of.upgrade('2.0.0', [{ ...resource, filter: "state != 'old'" }]);
    expect(plan.resources).toMatchObject([{ changed: ['filter'], mayDelete: true }]);
    expect(await of.sync(key)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 0, deleted: 2 } });
    expect(await of.live(key)).toEqual(['1', '2', '3', '4']);
    const quiet = { status: 'succeeded', notes: {}, statsJson: { recordsOut: 0, deleted: 0 } };
    expect(await of.sync(key)).toMatchObject(quiet);
  });
});

describe('a record that says that it is deleted', () => {
  it('is deleted at the end of a later run if its own ends before that', async () => {
    const { served, resource } = openRecords('cut', {
      ...flag,
      response: { records: 'items' },
      pagination: { kind: 'next_url', next: 'body.next' },
    });
    await using of = await account({ key: 'cut', resources: [resource] });
    served.rows = [1, 2].map((id) => ({ id, at: day(1) }));
    api.serve('cut', () => ({ body: { items: served.rows } }));
    await of.sync('cut');
    api.serve('cut', (query) =>
      query.get('page') === '2'
        ? { status: 404, body: {} }
        : { body: { items: [{ id: 1, at: day(2), state: 'gone' }], next: '/cut?page=2' } },
    );
    expect(await of.sync('cut')).toMatchObject({ status: 'failed' });
    api.serve('cut', () => ({ body: { items: [] } }));
    expect(await of.sync('cut')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1 } });
    expect(await of.live('cut')).toEqual(['2']);
  });

  it('stays deleted where an older version of it comes after an interruption, the newest first', async () => {
    const { resource } = openRecords('feed', {
      ...flag,
      response: { records: 'events', map: 'item' },
      pagination: { kind: 'next_url', next: 'body.next' },
    });
    const incremental = { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'desc', settle: 'PT0S' };
    await using of = await account({ key: 'feed', resources: [{ ...resource, incremental }] });
    const event = (row: Row) => ({ item: row });
    let failures = 3;
    api.serve('feed', (query) => {
      if (query.get('page') !== '2') {
        const events = [event({ id: 1, at: day(4), state: 'gone' }), event({ id: 2, at: day(3) })];
        return { body: { events, next: '/feed?page=2' } };
      }
      failures -= 1;
      if (failures >= 0) return { status: 503, body: {} };
      return { body: { events: [event({ id: 1, at: day(2) }), event({ id: 3, at: day(1) })] } };
    });
    expect(await of.sync('feed')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 2, deleted: 0 } });
    expect(await of.live('feed')).toEqual(['2', '3']);
    expect(await of.sync('feed')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 0, deleted: 0 } });
  });
});
