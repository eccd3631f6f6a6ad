import { describe, expect, it } from 'vitest';
import { useSharedAccounts } from '../support/sync/use-accounts.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const { account, shared } = useSharedAccounts(api);

const day = (no: number) => new Date(Date.UTC(2025, 0, no)).toISOString();
const ids = (count: number, from = 1) => Array.from({ length: count }, (_, index) => index + from);
const incremental = { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc', settle: 'PT0S' };
const flag = { mode: 'flag', when: "state = 'gone'" };

describe('deletions that are due while no partition has changed', () => {
  const family = (key: string) => {
    const state = {
      parents: [1, 2].map((id) => ({ id, n: 1, v: 1 })),
      rows: ids(40).map((id) => ({ id, state: 'live' })),
      broken: false,
    };
    api.serve(`${key}_p`, () => ({ body: state.parents }));
    api.serve(`${key}_c`, (_query, request) => {
      const parent = Number(request.url.split(/[/?]/)[2]);
      if (state.broken && parent === 2) return { status: 400 };
      return { body: parent === 1 ? state.rows : [] };
    });
    const child = (deletes = {}) => ({
      key: `${key}_c`,
      forEach: [{ as: 'p', resource: `${key}_p`, from: 'store', select: 'changed', when: 'n > 0' }],
      request: { path: `/${key}_c/{{ each.p.id }}`, query: { v: '{{ each.p.v }}' } },
      deletes: { mode: 'flag', when: "state = 'gone'", ...deletes },
    });
    return { state, child };
  };

  it('are made after a run that failed', async () => {
    const { state, child } = family('b6');
    await using of = await account({ key: 'b6', resources: [{ key: 'b6_p' }, child()] });
    await of.sync('b6_p');
    await of.sync('b6_c');
    expect(await of.live('b6_c')).toHaveLength(40);
    state.rows = ids(40).map((id) => ({ id, state: id === 1 ? 'gone' : 'live' }));
    state.parents = state.parents.map((p) => ({ ...p, v: 2 }));
    state.broken = true;
    await of.sync('b6_p');
    expect(await of.sync('b6_c')).toMatchObject({ status: 'failed' });
    state.parents = state.parents.map((p) => (p.id === 2 ? { ...p, n: 0 } : p));
    for (const _ of [1, 2]) {
      await of.sync('b6_p');
      await of.sync('b6_c');
    }
    expect(await of.live('b6_c')).toHaveLength(39);
  });

  it('are noted, and made once the brake is lifted', async () => {
    const { state, child } = family('b7');
    await using of = await account({ key: 'b7', resources: [{ key: 'b7_p' }, child()] });
    await of.sync('b7_p');
    await of.sync('b7_c');
    state.rows = ids(40).map((id) => ({ id, state: id <= 25 ? 'gone' : 'live' }));
    state.parents = state.parents.map((p) => ({ ...p, v: 2 }));
    await of.sync('b7_p');
    expect(await of.sync('b7_c')).toMatchObject({ status: 'partial', notes: { deletes_held_back: 1 } });
    const second = await of.sync('b7_c');
    await of.upgrade('2.0.0', [{ key: 'b7_p' }, child({ maxRatio: 1 })]);
    await of.sync('b7_c');
    await of.sync('b7_c');
    expect([second.status, (await of.live('b7_c')).length]).toEqual(['partial', 15]);
  });
});

describe('a record in two partitions, one of which the filter keeps', () => {
  it.each([
    ['full_scan', 'kept first', ['a', 'b']],
    ['full_scan', 'kept last', ['b', 'a']],
    ['endpoint', 'kept first', ['a', 'b']],
    ['endpoint', 'kept last', ['b', 'a']],
  ])('%s %s stays', async (mode, how, groups) => {
    const key = `${mode}_${how.replace(' ', '_')}`;
    api.serve(`${key}_gone`, () => ({ body: [] }));
    let isAdmin = true;
    // The person 1 is an admin of group a and a member of group b.
    api.serve(key, (_query, request) => {
      const group = request.url.split(/[/?]/)[2];
      return { body: [{ id: 1, role: group === 'a' && isAdmin ? 'admin' : 'member' }] };
    });
    const resource = {
      key,
      forEach: [{ as: 'group', values: '{{ params.groups }}' }],
      request: { path: `/${key}/{{ each.group }}` },
      filter: "role = 'admin'",
      deletes: { mode, ...(mode === 'endpoint' && { request: { path: `/${key}_gone/{{ each.group }}` }, key: 'id' }) },
    };
    await using of = await account({ key: key.replaceAll('_', '-'), resources: [resource], params: { groups } });
    const seen = [];
    for (const _ of [1, 2, 3]) {
      const run = await of.sync(key);
      seen.push([run.status, run.statsJson.recordsOut, run.statsJson.deleted, await of.live(key)]);
    }
    expect(await of.live(key)).toEqual(['1']);
    expect(seen[2]?.slice(0, 3)).toEqual(['succeeded', 0, 0]);
    isAdmin = false;
    expect((await of.sync(key)).statsJson.deleted).toBe(1);
    expect(await of.live(key)).toEqual([]);
    expect(await of.sync(key)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 0, deleted: 0 } });
  });
});

describe('append: a version in quarantine is tried again while a deletion is held back', () => {
  it('keeps the deletion', async () => {
    let rows: readonly unknown[] = ids(40).map((id) => ({ id, at: day(1), n: 1 }));
    api.serve('b9', (query) => ({
      body: (rows as { at: string }[]).filter(({ at }) => at >= (query.get('since') ?? '')),
    }));
    const resource = (maximum: number) => ({
      key: 'b9',
      request: { path: '/b9', query: { since: '{{ window.from }}' } },
      incremental,
      deletes: { mode: 'flag', when: "state = 'gone'" },
      onInvalid: 'quarantine',
      validate: { schema: { type: 'object', properties: { n: { type: 'integer', maximum } } } },
      target: { table: 'b9', mode: 'append' },
    });
    await using of = await account({ key: 'b9', resources: [resource(5)] });
    await of.sync('b9');
    rows = [{ id: 1, at: day(2), n: 9 }];
    await of.sync('b9');
    rows = ids(25).map((id) => ({ id, at: day(3), n: 1, state: 'gone' }));
    expect(await of.sync('b9')).toMatchObject({ status: 'partial', notes: { deletes_held_back: 1 } });
    // The other 24 are taken back: the brake no longer holds. 1 is still deleted, and is not listed again.
    await of.upgrade('2.0.0', [resource(10)]);
    await shared().stack.org.call('POST', '/quarantine/requeue', {
      body: { connectionId: of.connectionId },
    });
    rows = [...ids(24, 2).map((id) => ({ id, at: day(4), n: 1 }))];
    for (const _ of [1, 2]) {
      await of.sync('b9');
    }
    expect((await of.live('b9')).includes('1')).toBe(false);
  });
});

describe('versions of a record, the newest first', () => {
  it('a record that is deleted is not delivered in an older version', async () => {
    const rows = [
      { id: 2, at: day(5) },
      { id: 1, at: day(4), state: 'gone' },
      { id: 1, at: day(3), state: 'live' },
    ];
    api.serve('b10', (query) => ({ body: rows.filter(({ at }) => at >= (query.get('since') ?? '')) }));
    const resource = {
      key: 'b10',
      request: { path: '/b10', query: { since: '{{ window.from }}' } },
      incremental: { ...incremental, order: 'desc' },
      deletes: { mode: 'flag', when: "state = 'gone'" },
    };
    await using of = await account({ key: 'b10', resources: [resource] });
    for (const _ of [1, 2]) await of.sync('b10');
    expect(await of.live('b10')).toEqual(['2']);
  });
});

describe('a destination that refuses the first thousand deletions', () => {
  it('gets the others', async () => {
    let rows = ids(1200, 1000).map((id) => ({ id }));
    api.serve('c2', () => ({ body: rows }));
    const resource = { key: 'c2', deletes: { mode: 'full_scan', maxRatio: 1 } };
    await using of = await account({ key: 'c2', resources: [resource] });
    await of.sync('c2');
    await of.destination.query(`create function keep() returns trigger language plpgsql as
      'begin if new._deleted_at is not null and new._external_id < ''2000'' then return null; end if; return new; end'`);
    await of.destination.query('create trigger keep before update on c2 for each row execute function keep()');
    rows = [{ id: 1000 }];
    for (const _ of [1, 2]) {
      await of.sync('c2');
    }
    expect((await of.live('c2')).filter((id) => id >= '2000')).toEqual([]);
  });
});

describe('a deletion that is due from a run that failed', () => {
  it('is not made of a record that lives again in a partition that is skipped', async () => {
    let step = 0;
    api.serve('c4', (_query, request) => {
      const part = request.url.split(/[/?]/)[2] ?? '';
      if (step === 1 && part === 'b') return { status: 400 };
      if (step === 2 && part === 'a') return { status: 404 };
      return {
        body:
          part === 'a'
            ? [
                { id: 1, state: step === 1 ? 'gone' : 'live' },
                { id: 2, state: 'live' },
              ]
            : [{ id: 3, state: 'live' }],
      };
    });
    const resource = {
      key: 'c4',
      forEach: [{ as: 'group', values: '{{ params.groups }}' }],
      request: { path: '/c4/{{ each.group }}' },
      filter: "state != 'gone'",
      errors: [{ when: { status: [404] }, action: 'skip_partition' }],
      deletes: { mode: 'full_scan' },
    };
    await using of = await account({ key: 'c4', resources: [resource], params: { groups: ['a', 'b'] } });
    await of.sync('c4');
    step = 1;
    expect(await of.sync('c4')).toMatchObject({ status: 'failed' });
    step = 2;
    await of.sync('c4');
    expect(await of.live('c4')).toEqual(['1', '2', '3']);
  });
});

describe('append: an older version in quarantine that the filter no longer keeps', () => {
  it('deletes nothing of a record that lives', async () => {
    let rows: readonly { id: number; at: string; n: number }[] = [{ id: 1, at: day(1), n: 9 }];
    api.serve('d2', (query) => ({ body: rows.filter(({ at }) => at >= (query.get('since') ?? '')) }));
    const resource = (more = {}) => ({
      key: 'd2',
      request: { path: '/d2', query: { since: '{{ window.from }}' } },
      incremental,
      deletes: flag,
      onInvalid: 'quarantine',
      validate: { schema: { type: 'object', properties: { n: { type: 'integer', maximum: 5 } } } },
      target: { table: 'd2', mode: 'append' },
      ...more,
    });
    await using of = await account({ key: 'd2', resources: [resource()] });
    await of.sync('d2');
    rows = [
      { id: 1, at: day(2), n: 1 },
      { id: 2, at: day(3), n: 1 },
    ];
    await of.sync('d2');
    expect(await of.live('d2')).toEqual(['1', '2']);
    await of.upgrade('2.0.0', [resource({ filter: 'n < 9' })]);
    for (const _ of [1, 2]) await of.sync('d2');
    expect(await of.live('d2')).toEqual(['1', '2']);
    await shared().stack.org.call('POST', '/quarantine/requeue', { body: { connectionId: of.connectionId } });
    for (const _ of [1, 2]) {
      await of.sync('d2');
    }
    expect(await of.live('d2')).toEqual(['1', '2']);
  });
});

describe('a destination that refuses deletions for a while, and parents that do not change', () => {
  it('gets them once it takes them', async () => {
    let v = 1;
    let rows = [1, 2].map((id) => ({ id, state: 'live' }));
    api.serve('d5_p', () => ({ body: [{ id: 1, v }] }));
    api.serve('d5_c', () => ({ body: rows }));
    const child = {
      key: 'd5_c',
      forEach: [{ as: 'p', resource: 'd5_p', from: 'store', select: 'changed' }],
      request: { path: '/d5_c/{{ each.p.id }}', query: { v: '{{ each.p.v }}' } },
      deletes: flag,
    };
    await using of = await account({ key: 'd5', resources: [{ key: 'd5_p' }, child] });
    const both = async () => {
      await of.sync('d5_p');
      return await of.sync('d5_c');
    };
    await both();
    await of.destination.query(`create function refuse() returns trigger language plpgsql as
      'begin if new._deleted_at is not null then raise exception ''no''; end if; return new; end'`);
    await of.destination.query('create trigger refuse before update on d5_c for each row execute function refuse()');
    [v, rows] = [2, [1, 2].map((id) => ({ id, state: id === 1 ? 'gone' : 'live' }))];
    await both();
    await of.destination.query('drop trigger refuse on d5_c');
    for (const _ of [1, 2]) {
      await both();
    }
    expect(await of.live('d5_c')).toEqual(['2']);
  });
});

describe('a forced backfill while a record whose deletion was held back lives again', () => {
  it.each([
    ['flag', flag],
    ['filter', { mode: 'flag', when: 'false' }],
  ])('%s: it is not deleted', async (how, deletes) => {
    const key = `e1_${how}`;
    let rows = ids(40).map((id) => ({ id, at: day(1), state: 'live' }));
    api.serve(key, (query) => ({
      body: rows.filter(({ at }) => at >= (query.get('since') ?? '') && at <= (query.get('until') ?? '9')),
    }));
    const resource = {
      key,
      request: { path: `/${key}`, query: { since: '{{ window.from }}', until: '{{ window.to }}' } },
      incremental,
      deletes,
      ...(how === 'filter' && { filter: "state != 'gone'" }),
    };
    await using of = await account({ key: key.replaceAll('_', '-'), resources: [resource] });
    await of.sync(key);
    rows = ids(40).map((id) => ({ id, at: day(2), state: id <= 25 ? 'gone' : 'live' }));
    expect(await of.sync(key)).toMatchObject({ status: 'partial', notes: { deletes_held_back: 1 } });
    // The API takes one of them back.
    rows = rows.map((row) => (row.id === 1 ? { ...row, at: day(3), state: 'live' } : row));
    await of.backfill(key, { force: true });
    expect(await of.live(key)).toContain('1');
  });
});

describe('a forced backfill while a record that a list has named lives again', () => {
  it('is not deleted', async () => {
    let rows = ids(40).map((id) => ({ id, at: day(1) }));
    let named: readonly { id: number; at: string }[] = [];
    api.serve('f4', (query) => ({
      body: rows.filter(({ at }) => at >= (query.get('since') ?? '') && at <= (query.get('until') ?? '9')),
    }));
    api.serve('f4_gone', () => ({ body: named }));
    const resource = {
      key: 'f4',
      request: { path: '/f4', query: { since: '{{ window.from }}', until: '{{ window.to }}' } },
      incremental,
      deletes: { mode: 'endpoint', request: { path: '/f4_gone' }, key: 'id', at: 'at' },
    };
    await using of = await account({ key: 'f4', resources: [resource] });
    await of.sync('f4');
    named = ids(25).map((id) => ({ id, at: day(2) }));
    rows = ids(15, 26).map((id) => ({ id, at: day(2) }));
    expect(await of.sync('f4')).toMatchObject({ status: 'partial', notes: { deletes_held_back: 1 } });
    rows = [...rows, { id: 1, at: day(3) }];
    await of.backfill('f4', { force: true });
    expect(await of.live('f4')).toContain('1');
  });
});

describe('a record of two partitions, of which a run reads the one whose filter drops it', () => {
  it('stays', async () => {
    let parents = [{ id: 1, v: 1 }];
    api.serve('g1_p', () => ({ body: parents }));
    api.serve('g1_c', (_query, request) => {
      const parent = Number(request.url.split(/[/?]/)[2]);
      return { body: [{ id: 7, role: parent === 1 ? 'admin' : 'member' }] };
    });
    const child = {
      key: 'g1_c',
      forEach: [{ as: 'p', resource: 'g1_p', from: 'store', select: 'changed' }],
      request: { path: '/g1_c/{{ each.p.id }}', query: { v: '{{ each.p.v }}' } },
      filter: "role = 'admin'",
      deletes: { mode: 'full_scan', scope: 'partition' },
    };
    await using of = await account({ key: 'g1', resources: [{ key: 'g1_p' }, child] });
    const both = async () => {
      await of.sync('g1_p');
      return await of.sync('g1_c');
    };
    await both();
    expect(await of.live('g1_c')).toEqual(['7']);
    parents = [...parents, { id: 2, v: 1 }];
    for (const _ of [1, 2, 3]) {
      await both();
    }
    expect(await of.live('g1_c')).toEqual(['7']);
  });
});

describe('a condition that is corrected while what it flagged is held back', () => {
  it('deletes nothing', async () => {
    const rows = ids(40).map((id) => ({ id, at: day(1), state: id > 15 ? 'gone' : 'live' }));
    api.serve('g2', (query) => ({ body: rows.filter(({ at }) => at >= (query.get('since') ?? '')) }));
    const resource = (when: string) => ({
      key: 'g2',
      request: { path: '/g2', query: { since: '{{ window.from }}' } },
      incremental,
      deletes: { mode: 'flag', when },
    });
    await using of = await account({ key: 'g2', resources: [resource('false')] });
    await of.sync('g2');
    await of.upgrade('2.0.0', [resource("state = 'gone'")]);
    expect(await of.sync('g2')).toMatchObject({ status: 'partial', notes: { deletes_held_back: 1 } });
    await of.upgrade('3.0.0', [resource("state = 'purged'")]);
    const seen = [];
    for (const _ of [1, 2]) {
      const run = await of.sync('g2');
      seen.push([run.status, run.notes, run.statsJson]);
    }
    expect(await of.live('g2')).toHaveLength(40);
    expect(seen[1]).toMatchObject(['succeeded', {}, { deleted: 0, recordsOut: 0 }]);
  });
});

describe('a record in quarantine that is flagged, and lives again', () => {
  it('is delivered', async () => {
    let rows: readonly object[] = [
      { id: 1, at: day(1), n: 'x' },
      { id: 2, at: day(1), n: 1 },
    ];
    api.serve('g3', (query) => ({
      body: (rows as { at: string }[]).filter(({ at }) => at >= (query.get('since') ?? '')),
    }));
    const resource = {
      key: 'g3',
      request: { path: '/g3', query: { since: '{{ window.from }}' } },
      incremental,
      deletes: flag,
      onInvalid: 'quarantine',
      validate: { schema: { type: 'object', properties: { n: { type: 'integer' } } } },
    };
    await using of = await account({ key: 'g3', resources: [resource] });
    await of.sync('g3');
    rows = [{ id: 1, at: day(2), n: 'x', state: 'gone' }];
    await of.sync('g3');
    rows = [{ id: 1, at: day(3), n: 1 }];
    await of.sync('g3');
    await of.sync('g3');
    expect(await of.live('g3')).toEqual(['1', '2']);
  });
});

describe('a record of a partition with a list of deleted ones leaves the filter', () => {
  interface Ticket {
    readonly id: string;
    state: string;
    at: string;
  }
  const tickets = async (key: string, more: object = {}) => {
    let rows: Ticket[] = [1, 2, 3, 4].map((no) => ({ id: String(no), state: 'open', at: day(no) }));
    const upstream: { shows: () => readonly Ticket[]; gone: Parameters<typeof api.serve>[1] } = {
      shows: () => rows,
      gone: () => ({ body: [] }),
    };
    api.serve(key, (query) => ({ body: upstream.shows().filter(({ at }) => at >= (query.get('since') ?? '')) }));
    api.serve(`${key}_gone`, (...asked) => upstream.gone(...asked));
    const of = await account({
      key: key.replaceAll('_', '-'),
      resources: [
        {
          key,
          forEach: [{ as: 'group', values: '{{ params.groups }}' }],
          request: { path: `/${key}/{{ each.group }}`, query: { since: '{{ window.from }}' } },
          incremental,
          filter: "state = 'open'",
          deletes: { mode: 'endpoint', request: { path: `/${key}_gone/{{ each.group }}` }, key: 'id', ...more },
        },
      ],
      params: { groups: ['a'] },
    });
    const close = (...closed: string[]) => {
      rows = rows.map((row) => (closed.includes(row.id) ? { ...row, state: 'closed', at: day(20) } : row));
    };
    await of.sync(key);
    expect(await of.live(key)).toEqual(['1', '2', '3', '4']);
    return { of, api: upstream, close, rows: () => rows };
  };

  it('and comes back in the same read: it stays', async () => {
    const { of, api: shown, rows } = await tickets('back');
    const [first] = rows();
    if (!first) throw new Error('there are tickets');
    shown.shows = () => [...rows(), { ...first, state: 'closed', at: day(20) }, { ...first, at: day(21) }];
    expect(await of.sync('back')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 0 } });
    expect(await of.live('back')).toEqual(['1', '2', '3', '4']);
  });

  it('and the list fails: it is deleted by the next run', async () => {
    const { of, api: shown, close } = await tickets('later');
    close('2');
    shown.gone = () => ({ status: 400 });
    expect(await of.sync('later')).toMatchObject({ status: 'failed' });
    shown.gone = () => ({ body: [] });
    await of.sync('later');
    expect(await of.live('later')).toEqual(['1', '3', '4']);
  });

  it('and more leave than the brake allows: the runs say so until they are released', async () => {
    const { of, close } = await tickets('held', { maxRatio: 0.25, minRecords: 0 });
    close('2', '3', '4');
    for (const _ of [1, 2]) expect(await of.sync('held')).toMatchObject({ status: 'partial' });
    expect(await of.live('held')).toEqual(['1', '2', '3', '4']);
    await of.backfill('held', { force: true });
    expect(await of.live('held')).toEqual(['1']);
  });
});

describe('a record of two partitions leaves the filter of one', () => {
  type Row = Readonly<Record<string, unknown>>;
  const admin = { id: 1, role: 'admin' };
  const member = { id: 1, role: 'member' };
  /** What each group and its list of deleted records show. */
  const people = async (key: string, groups: Record<string, readonly Row[]>, parts: object = {}, ofAll = false) => {
    const gone: Record<string, readonly Row[]> = {};
    const groupOf = ({ url }: { readonly url: string }) => url.split(/[/?]/)[2] ?? '';
    api.serve(key, (_query, request) => ({ body: groups[groupOf(request)] ?? [] }));
    api.serve(`${key}_gone`, (_query, request) => ({ body: gone[groupOf(request)] ?? [] }));
    const path = ofAll ? `/${key}_gone` : `/${key}_gone/{{ each.group }}`;
    const resource = {
      key,
      forEach: [{ as: 'group', values: '{{ params.groups }}' }],
      request: { path: `/${key}/{{ each.group }}` },
      filter: "role = 'admin'",
      deletes: { mode: 'endpoint', request: { path }, key: 'id' },
      ...parts,
    };
    const of = await account({ key: key.replaceAll('_', '-'), resources: [resource], params: { groups: ['a', 'b'] } });
    return { of, groups, gone, resource, sync: () => of.sync(key), live: () => of.live(key) };
  };

  it('and another page keeps it as it is known: it stays', async () => {
    const { groups, sync, live } = await people('kept_later', { a: [admin] }, {}, true);
    await sync();
    Object.assign(groups, { a: [member], b: [admin] });
    for (const _ of [1, 2])
      expect(await sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 0, deleted: 0 } });
    expect(await live()).toEqual(['1']);
    Object.assign(groups, { b: [member] });
    await sync();
    expect(await live()).toEqual([]);
  });

  it('and moves to the other: a table that is appended to gets no second row', async () => {
    const { of, groups, sync } = await people('moved', { a: [admin] }, { target: { table: 'moved', mode: 'append' } });
    await sync();
    Object.assign(groups, { a: [member], b: [admin] });
    await sync();
    expect(await of.rows('moved')).toHaveLength(1);
  });

  it('while the other is no longer read: it is deleted', async () => {
    const { of, groups, sync, live } = await people('unread', { a: [admin], b: [admin] });
    await sync();
    await of.ask('PATCH', '', { params: { groups: ['b'] }, allowDeletes: true });
    Object.assign(groups, { b: [member] });
    await sync();
    expect(await live()).toEqual([]);
  });

  it('while nobody knows where it was: it is deleted', async () => {
    const { of, groups, resource, sync, live } = await people('unknown', { a: [admin] }, { deletes: { mode: 'none' } });
    await sync();
    const deletes = { mode: 'endpoint', request: { path: '/unknown_gone/{{ each.group }}' }, key: 'id' };
    await of.upgrade('1.1.0', [{ ...resource, deletes }]);
    Object.assign(groups, { a: [member] });
    await sync();
    expect(await live()).toEqual([]);
  });

  it.each([
    ['last', [admin, member], []],
    ['first', [member, admin], ['1']],
  ])('and one page of changes has both forms, the other one %s: the last counts', async (which, page, left) => {
    const key = `both_${which}`;
    const dated = (rows: readonly Row[], from: number) => rows.map((row, no) => ({ ...row, at: day(from + no) }));
    const { groups, sync, live } = await people(key, { a: dated([admin], 1) }, { incremental });
    await sync();
    Object.assign(groups, { a: dated(page, 5) });
    await sync();
    expect(await live()).toEqual(left);
    await sync();
    expect(await live()).toEqual(left);
  });

  it.each([
    ['known', [{ ...admin, at: day(4) }]],
    ['unknown', []],
  ])(
    'and a page of changes, the newest first, has an older form that it keeps: it is not there (%s)',
    async (how, first) => {
      const desc = { incremental: { ...incremental, order: 'desc' } };
      const { groups, sync, live } = await people(
        `desc_${how}`,
        { a: [{ ...admin, id: 2, at: day(1) }, ...first] },
        desc,
      );
      await sync();
      Object.assign(groups, {
        a: [
          { ...member, at: day(6) },
          { ...admin, at: day(5) },
        ],
      });
      await sync();
      expect(await live()).toEqual(['2']);
    },
  );

  it('while its form in the other is quarantined: that one is delivered when it is requeued', async () => {
    const mended = (n: string) => ({ transform: `{ "id": id, "role": role, "n": ${n} }`, onInvalid: 'quarantine' });
    const parts = { incremental, ...mended('$number(n)') };
    const first = { ...admin, n: 1, at: day(1) };
    const { of, groups, resource, sync } = await people('kept_back', { a: [first], b: [first] }, parts, true);
    await sync();
    Object.assign(groups, { a: [{ ...admin, n: 'two', at: day(2) }], b: [{ ...member, n: 1, at: day(2) }] });
    expect(await sync()).toMatchObject({ statsJson: { quarantined: 1, deleted: 0 } });
    Object.assign(groups, { a: [], b: [] });
    await of.upgrade('1.1.0', [{ ...resource, ...mended('n = "two" ? 2 : $number(n)') }]);
    const [row] = await of.quarantine();
    await shared().stack.org.call('POST', `/quarantine/${row?.id}/requeue`);
    await sync();
    expect((await of.rows('kept_back')).map(({ n }) => Number(n))).toEqual([2]);
  });

  it.each([
    ['asc', ['1']],
    ['desc', []],
  ])('and a page has both forms, at times that tell nothing (%s): their order does', async (order, left) => {
    const at = (ms: number) => new Date(Date.parse(day(5)) + ms).toISOString();
    const parts = { incremental: { ...incremental, order } };
    const { groups, sync, live } = await people(`skewed_${order}`, { a: [{ ...admin, at: day(1) }] }, parts);
    await sync();
    Object.assign(groups, {
      a: [
        { ...member, at: at(400) },
        { ...admin, at: at(100) },
      ],
    });
    for (const _ of [1, 2]) {
      await sync();
      expect(await live()).toEqual(left);
    }
  });

  it('after an earlier version was kept back, which is tried again: it is deleted', async () => {
    const parts = { incremental, transform: '{ "id": id, "role": role, "n": $number(n) }', onInvalid: 'quarantine' };
    const { of, groups, sync, live } = await people('late_retry', { a: [{ ...admin, n: 1, at: day(1) }] }, parts);
    await sync();
    Object.assign(groups, { a: [{ ...admin, n: 'two', at: day(2) }] });
    expect(await sync()).toMatchObject({ statsJson: { quarantined: 1 } });
    Object.assign(groups, { a: [{ ...member, n: 3, at: day(3) }] });
    api.serve('late_retry_gone', () => ({ status: 400 }));
    expect(await sync()).toMatchObject({ status: 'failed' });
    Object.assign(groups, { a: [] });
    api.serve('late_retry_gone', () => ({ body: [] }));
    const [row] = await of.quarantine();
    await shared().stack.org.call('POST', `/quarantine/${row?.id}/requeue`);
    await sync();
    expect(await live()).toEqual([]);
  });

  it('and a list has both forms: it stays, and the next run is quiet', async () => {
    const { groups, sync, live } = await people('both_listed', { a: [admin] });
    await sync();
    Object.assign(groups, { a: [admin, member] });
    for (const _ of [1, 2]) expect(await sync()).toMatchObject({ statsJson: { recordsOut: 0, deleted: 0 } });
    expect(await live()).toEqual(['1']);
  });

  it('in a run whose list fails, before the spec finds deletes in another way: it stays', async () => {
    const { of, groups, resource, sync, live } = await people('failing', { a: [admin], b: [admin] });
    await sync();
    Object.assign(groups, { a: [member] });
    api.serve('failing_gone', () => ({ status: 400 }));
    expect(await sync()).toMatchObject({ status: 'failed' });
    await of.upgrade('1.1.0', [{ ...resource, deletes: { mode: 'full_scan' } }]);
    for (const _ of [1, 2]) {
      expect(await sync()).toMatchObject({ status: 'succeeded', statsJson: { deleted: 0 } });
      expect(await live()).toEqual(['1']);
    }
  });

  it('by a deletion before a change of the other: it is deleted once both have deleted it', async () => {
    const at = (no: number) => ({ ...admin, at: day(no) });
    const { groups, gone, sync, live } = await people(
      'dated',
      { a: [at(1)], b: [at(1)] },
      {
        incremental,
        deletes: { mode: 'endpoint', request: { path: '/dated_gone/{{ each.group }}' }, key: 'id', at: 'at' },
      },
    );
    await sync();
    Object.assign(groups, { a: [at(20)], b: [] });
    Object.assign(gone, { b: [{ id: 1, at: day(19) }] });
    await sync();
    expect(await live()).toEqual(['1']);
    Object.assign(groups, { a: [] });
    Object.assign(gone, { a: [{ id: 1, at: day(25) }] });
    await sync();
    expect(await live()).toEqual([]);
  });
});

describe('a partition that leaves and comes back', () => {
  it.each(['full_scan', 'flag'])('%s', async (mode) => {
    const key = `g4_${mode}`;
    let groups = [{ id: 1 }, { id: 2 }];
    let rows = [
      { id: 'a', at: day(1), state: 'live' },
      { id: 'b', at: day(2), state: 'live' },
    ];
    api.serve(`${key}_p`, () => ({ body: groups }));
    api.serve(key, (_query, request) => ({
      body: request.url.split(/[/?]/)[2] === '2' ? rows : [{ id: 'z', at: day(1), state: 'live' }],
    }));
    const resource = {
      key,
      forEach: [{ as: 'p', resource: `${key}_p`, from: 'live' }],
      request: { path: `/${key}/{{ each.p.id }}` },
      deletes: mode === 'flag' ? flag : { mode },
      target: { table: key },
    };
    await using of = await account({ key: key.replaceAll('_', '-'), resources: [{ key: `${key}_p` }, resource] });
    await of.sync(key);
    groups = [{ id: 1 }];
    await of.sync(key);
    groups = [{ id: 1 }, { id: 2 }];
    rows = rows.slice(0, 1).concat({ id: 'c', at: day(3), state: 'live' });
    await of.sync(key);
    const run = await of.sync(key);
    expect(run.statsJson).toMatchObject({ recordsOut: 0, deleted: 0 });
  });
});

it('a read that begins again is compared with what is known, and its request ends at window.to', async () => {
  let touched = false;
  const rows = [1, 2, 3].map((no) => ({ id: String(no), at: day(no) }));
  api.serve('ahead', (query) => {
    const [since, until] = [query.get('since') ?? '', query.get('until') ?? '9'];
    const second = rows[1];
    if (query.get('v') === '2' && !touched && second) {
      touched = true;
      second.at = new Date().toISOString();
    }
    return { body: rows.filter(({ at }) => at >= since && at < until) };
  });
  const resource = (v: string) => ({
    key: 'ahead',
    request: { path: '/ahead', query: { since: '{{ window.from }}', until: '{{ window.to }}', v } },
    incremental,
    deletes: { mode: 'flag', when: 'gone = true' },
  });
  await using of = await account({ key: 'ahead', resources: [resource('1')] });
  await of.sync('ahead');
  await of.sync('ahead');
  await of.upgrade('2.0.0', [resource('2')]);
  const run = await of.sync('ahead');
  expect([run.statsJson.deleted, await of.live('ahead')]).toEqual([0, ['1', '2', '3']]);
});

it('a record is deleted and created again; a backfill ends below it, and the list still names it', async () => {
  const rows = [1, 2, 3].map((no) => ({ id: String(no), at: day(no) }));
  let gone: { id: string }[] = [];
  api.serve('below', (query) => {
    const [since, until] = [query.get('since') ?? '', query.get('until') ?? '9'];
    return { body: rows.filter(({ at }) => at >= since && at < until) };
  });
  api.serve('below_gone', () => ({ body: gone }));
  const resource = {
    key: 'below',
    request: { path: '/below', query: { since: '{{ window.from }}', until: '{{ window.to }}' } },
    incremental,
    deletes: { mode: 'endpoint', request: { path: '/below_gone' }, key: 'id' },
  };
  await using of = await account({ key: 'below', resources: [resource] });
  await of.sync('below');
  await of.sync('below');
  const second = rows[1];
  if (second) second.at = new Date(Date.now() - 60_000).toISOString();
  gone = [{ id: '2' }];
  const run = await of.backfill('below', { from: day(1) });
  expect([run.statsJson.deleted, await of.live('below')]).toEqual([0, ['1', '2', '3']]);
});
