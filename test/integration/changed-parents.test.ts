import { describe, expect, it } from 'vitest';
import { useSharedAccounts } from '../support/sync/use-accounts.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const { account } = useSharedAccounts(api);

const day = (no: number) => new Date(Date.UTC(2025, 0, no)).toISOString();
const incremental = { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc', settle: 'PT0S' };

/** A feed by token: without one all living records, with one what changed since, deleted ones marked. */
function feed(key: string) {
  const state = { rows: [1, 2, 3], log: [] as { no: number; id: number }[] };
  api.serve(key, (query) => {
    const now = `t${state.log.length}`;
    const token = query.get('token') ?? 'start';
    if (token === 'start') return { body: { data: state.rows.map((id) => ({ id })), token: now } };
    const from = Number(token.slice(1));
    return {
      body: { data: state.log.filter(({ no }) => no > from).map(({ id }) => ({ id, gone: true })), token: now },
    };
  });
  const remove = (id: number) => {
    state.rows = state.rows.filter((one) => one !== id);
    state.log.push({ no: state.log.length + 1, id });
  };
  const parts = {
    response: { records: 'data' },
    incremental: { kind: 'token', next: 'body.token', initial: 'start' },
    deletes: { mode: 'flag', when: 'gone = true' },
  };
  return { remove, parts };
}

describe('a parent by another name, its children read conditionally', () => {
  it('delivers the children with the new name', async () => {
    let name = 'a';
    api.serve('b1_teams', () => ({ body: [{ id: 1, name }] }));
    api.serve('b1_players', (_query, request) =>
      request.headers['if-none-match'] === '"v1"'
        ? { status: 304, headers: { etag: '"v1"' } }
        : { headers: { etag: '"v1"' }, body: [{ id: 1 }, { id: 2 }] },
    );
    const child = {
      key: 'b1_players',
      forEach: [{ as: 'team', resource: 'b1_teams', from: 'store' }],
      request: { path: '/b1_players/{{ each.team.id }}', cache: { mode: 'conditional' } },
      response: { addFields: { team: 'each.team.name' } },
    };
    await using of = await account({ key: 'b1', resources: [{ key: 'b1_teams' }, child] });
    const both = async () => {
      await of.sync('b1_teams');
      return await of.sync('b1_players');
    };
    await both();
    await both();
    name = 'b';
    await both();
    await both();
    expect((await of.rows('b1_players', ['team'])).map(({ team }) => team)).toEqual(['b', 'b']);
  });
});

describe('a parent field in the filter of its children', () => {
  it.each(['leave', 'enter'])('children %s', async (how) => {
    let open = how === 'leave';
    const [teams, players] = [`b2_${how}_teams`, `b2_${how}_players`];
    api.serve(teams, () => ({ body: [{ id: 1, open }] }));
    api.serve(players, (query) => ({
      body: [1, 2].map((no) => ({ id: no, at: day(no) })).filter(({ at }) => at >= (query.get('since') ?? '')),
    }));
    const child = {
      key: players,
      forEach: [{ as: 'team', resource: teams, from: 'store' }],
      request: { path: `/${players}/{{ each.team.id }}`, query: { since: '{{ window.from }}' } },
      incremental,
      filter: '$each.team.open',
      deletes: { mode: 'flag', when: 'gone = true' },
    };
    await using of = await account({ key: `b2-${how}`, resources: [{ key: teams }, child] });
    const both = async () => {
      await of.sync(teams);
      return await of.sync(players);
    };
    await both();
    open = !open;
    await both();
    await both();
    expect(await of.live(players)).toEqual(how === 'leave' ? [] : ['1', '2']);
  });
});

describe('a parent field in the request of its children', () => {
  it('reads the other list whole', async () => {
    let branch = 'main';
    api.serve('b3_repos', () => ({ body: [{ id: 1, branch }] }));
    const commits: Record<string, readonly { id: string; at: string }[]> = {
      main: [{ id: 'm1', at: day(5) }],
      next: [
        { id: 'n1', at: day(2) },
        { id: 'n2', at: day(6) },
      ],
    };
    api.serve('b3_commits', (query) => ({
      body: (commits[query.get('branch') ?? ''] ?? []).filter(({ at }) => at >= (query.get('since') ?? '')),
    }));
    const child = {
      key: 'b3_commits',
      forEach: [{ as: 'repo', resource: 'b3_repos', from: 'store' }],
      request: { path: '/b3_commits', query: { branch: '{{ each.repo.branch }}', since: '{{ window.from }}' } },
      incremental,
    };
    await using of = await account({ key: 'b3', resources: [{ key: 'b3_repos' }, child] });
    const both = async () => {
      await of.sync('b3_repos');
      return await of.sync('b3_commits');
    };
    await both();
    branch = 'next';
    await both();
    await both();
    expect(await of.live('b3_commits')).toEqual(['m1', 'n1', 'n2']);
  });
});

describe('a token read that begins again by a changed shape', () => {
  it('finds what was deleted meanwhile', async () => {
    let name = 'a';
    const { remove, parts } = feed('b4_players');
    api.serve('b4_teams', () => ({ body: [{ id: 1, name }] }));
    const child = {
      key: 'b4_players',
      forEach: [{ as: 'team', resource: 'b4_teams', from: 'store' }],
      request: { path: '/b4_players/{{ each.team.id }}', query: { token: '{{ watermark }}' } },
      transform: "{ 'id': id, 'team': $each.team.name }",
      ...parts,
    };
    await using of = await account({ key: 'b4', resources: [{ key: 'b4_teams' }, child] });
    const both = async () => {
      await of.sync('b4_teams');
      return await of.sync('b4_players');
    };
    await both();
    expect(await of.live('b4_players')).toEqual(['1', '2', '3']);
    name = 'b';
    remove(2);
    await both();
    await both();
    expect(await of.live('b4_players')).toEqual(['1', '3']);
  });
});

describe('a parent by another name, and back', () => {
  it('leaves no child by the name between', async () => {
    let name = 'a';
    let broken = false;
    api.serve('c1_teams', () => ({ body: [{ id: 1, name }] }));
    api.serve('c1_players', (query) => {
      const rows = [1, 2, 3, 4]
        .map((no) => ({ id: no, at: day(no) }))
        .filter(({ at }) => at >= (query.get('since') ?? ''));
      const page = Number(query.get('page') ?? 1);
      if (broken && page > 1) return { status: 400 };
      return {
        body: { data: rows.slice(page * 2 - 2, page * 2), next: rows.length > page * 2 ? String(page + 1) : null },
      };
    });
    const child = {
      key: 'c1_players',
      forEach: [{ as: 'team', resource: 'c1_teams', from: 'store' }],
      request: { path: '/c1_players/{{ each.team.id }}', query: { since: '{{ window.from }}' } },
      response: { records: 'data', addFields: { team: 'each.team.name' } },
      pagination: { kind: 'cursor', next: 'body.next', inject: { in: 'query', name: 'page' } },
      incremental,
    };
    await using of = await account({ key: 'c1', resources: [{ key: 'c1_teams' }, child] });
    const both = async () => {
      await of.sync('c1_teams');
      return await of.sync('c1_players');
    };
    await both();
    await both();
    [name, broken] = ['b', true];
    expect(await both()).toMatchObject({ status: 'failed' });
    [name, broken] = ['a', false];
    expect(await both()).toMatchObject({ status: 'succeeded' });
    expect(await both()).toMatchObject({ status: 'succeeded' });
    expect((await of.rows('c1_players', ['team'])).map(({ team }) => team)).toEqual(['a', 'a', 'a', 'a']);
  });
});

describe('a parent by another name, and back, its children read in windows', () => {
  it('leaves no child by the name between', async () => {
    let name = 'a';
    let broken = false;
    api.serve('d1_teams', () => ({ body: [{ id: 1, name }] }));
    api.serve('d1_players', (query) => {
      const [since, until] = [query.get('since') ?? '', query.get('until') ?? '9'];
      if (broken && since > '2025-06') return { status: 400 };
      const rows = [
        { id: 1, at: day(1) },
        { id: 2, at: day(3) },
        { id: 3, at: '2026-03-01T00:00:00.000Z' },
      ];
      return { body: rows.filter(({ at }) => at >= since && at < until) };
    });
    const child = {
      key: 'd1_players',
      forEach: [{ as: 'team', resource: 'd1_teams', from: 'store' }],
      request: {
        path: '/d1_players/{{ each.team.id }}',
        query: { since: '{{ window.from }}', until: '{{ window.to }}' },
      },
      response: { addFields: { team: 'each.team.name' } },
      incremental: { ...incremental, initial: '2024-08-01T00:00:00.000Z', window: { size: 'P365D' } },
    };
    await using of = await account({ key: 'd1', resources: [{ key: 'd1_teams' }, child] });
    const both = async () => {
      await of.sync('d1_teams');
      return await of.sync('d1_players');
    };
    expect(await both()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 3 } });
    expect(await both()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 0 } });
    [name, broken] = ['b', true];
    expect(await both()).toMatchObject({ status: 'failed' });
    [name, broken] = ['a', false];
    for (const _ of [1, 2]) expect(await both()).toMatchObject({ status: 'succeeded' });
    expect((await of.rows('d1_players', ['team'])).map(({ team }) => team)).toEqual(['a', 'a', 'a']);
  });
});

interface Row {
  readonly id: string;
  readonly at: string;
}

describe('a partition begins anew as its request has changed; a record is deleted between its page and the list', () => {
  it.each(['fresh', 'renamed'])('%s', async (how) => {
    const [repos, commits, gone] = [`anew_${how}_repos`, `anew_${how}_commits`, `anew_${how}_gone`];
    let branch = how === 'fresh' ? 'next' : 'main';
    let dies = false;
    const rows = {
      main: [{ id: 'm1', at: day(5) }],
      next: [
        { id: 'n1', at: day(2) },
        { id: 'n2', at: day(6) },
      ],
    };
    const dead: Record<keyof typeof rows, Row[]> = { main: [], next: [] };
    const branchOf = (query: URLSearchParams) => (query.get('branch') === 'next' ? 'next' : 'main');
    api.serve(repos, () => ({ body: [{ id: 1, branch }] }));
    api.serve(commits, (query) => {
      const of = branchOf(query);
      const body = rows[of].filter(({ at }) => at >= (query.get('since') ?? ''));
      if (of === 'next' && dies) {
        dies = false;
        rows.next = rows.next.filter(({ id }) => id !== 'n1');
        dead.next = [{ id: 'n1', at: day(7) }];
      }
      return { body };
    });
    api.serve(gone, (query) => ({ body: dead[branchOf(query)] }));
    const child = {
      key: commits,
      forEach: [{ as: 'repo', resource: repos, from: 'store' }],
      request: { path: `/${commits}`, query: { branch: '{{ each.repo.branch }}', since: '{{ window.from }}' } },
      incremental,
      deletes: {
        mode: 'endpoint',
        request: { path: `/${gone}`, query: { branch: '{{ each.repo.branch }}' } },
        key: 'id',
      },
    };
    await using of = await account({ key: `anew-${how}`, resources: [{ key: repos }, child] });
    const both = async () => {
      await of.sync(repos);
      return await of.sync(commits);
    };
    if (how === 'renamed') {
      await both();
      await both();
      branch = 'next';
    }
    dies = true;
    for (const _ of [1, 2, 3]) await both();
    expect(await of.live(commits)).not.toContain('n1');
  });
});

it('a parent field in the request changes, the read fails half way, and it changes back', async () => {
  let branch = 'main';
  let broken = false;
  api.serve('undone_repos', () => ({ body: [{ id: 1, branch }] }));
  const rows = {
    main: [{ id: 'm1', at: day(5) }],
    next: [
      { id: 'n1', at: day(2) },
      { id: 'n2', at: day(20) },
      { id: 'n3', at: day(21) },
    ],
  };
  api.serve('undone_commits', (query) => {
    const found = rows[query.get('branch') === 'next' ? 'next' : 'main'].filter(
      ({ at }) => at >= (query.get('since') ?? ''),
    );
    const page = Number(query.get('page') ?? 1);
    if (broken && page > 1) return { status: 400 };
    return {
      body: { data: found.slice(page * 2 - 2, page * 2), next: found.length > page * 2 ? String(page + 1) : null },
    };
  });
  const child = {
    key: 'undone_commits',
    forEach: [{ as: 'repo', resource: 'undone_repos', from: 'store' }],
    request: { path: '/undone_commits', query: { branch: '{{ each.repo.branch }}', since: '{{ window.from }}' } },
    response: { records: 'data' },
    pagination: { kind: 'cursor', next: 'body.next', inject: { in: 'query', name: 'page' } },
    incremental: { ...incremental, initial: '2024-01-01T00:00:00.000Z' },
  };
  await using of = await account({ key: 'undone', resources: [{ key: 'undone_repos' }, child] });
  const both = async () => {
    await of.sync('undone_repos');
    return await of.sync('undone_commits');
  };
  await both();
  await both();
  rows.main.push({ id: 'm2', at: day(10) });
  [branch, broken] = ['next', true];
  expect(await both()).toMatchObject({ status: 'failed' });
  [branch, broken] = ['main', false];
  for (const _ of [1, 2, 3]) expect(await both()).toMatchObject({ status: 'succeeded' });
  expect(await of.live('undone_commits')).toEqual(expect.arrayContaining(['m1', 'm2']));
});

it('a parent by another name; the read of everything once more had a gap', async () => {
  let name = 'a';
  let empty = false;
  api.serve('gapped_teams', () => ({ body: [{ id: 1, name }] }));
  api.serve('gapped_players', (query) => {
    if (empty) return { body: {} };
    return {
      body: {
        data: [1, 2]
          .map((no) => ({ id: String(no), at: day(no) }))
          .filter(({ at }) => at >= (query.get('since') ?? '')),
      },
    };
  });
  const child = {
    key: 'gapped_players',
    forEach: [{ as: 'team', resource: 'gapped_teams', from: 'store' }],
    request: { path: '/gapped_players/{{ each.team.id }}', query: { since: '{{ window.from }}' } },
    response: { records: 'data', recordsMissing: 'empty', addFields: { team: 'each.team.name' } },
    incremental,
  };
  await using of = await account({ key: 'gapped', resources: [{ key: 'gapped_teams' }, child] });
  const both = async () => {
    await of.sync('gapped_teams');
    return await of.sync('gapped_players');
  };
  await both();
  await both();
  [name, empty] = ['b', true];
  await both();
  empty = false;
  for (const _ of [1, 2, 3]) expect(await both()).toMatchObject({ status: 'succeeded' });
  expect((await of.rows('gapped_players', ['team'])).map(({ team }) => team)).toEqual(['b', 'b']);
});

it('the children of a changed parent are read again until a read of them had no gap', async () => {
  let [changed, lines] = [day(1), [1, 2]];
  api.serve('g_orders', () => ({ body: [{ id: 7, at: changed }] }));
  api.serve('g_lines', () => ({ body: { data: lines.map((id) => ({ id })), total: 3 } }));
  const child = {
    key: 'g_lines',
    forEach: [{ as: 'order', resource: 'g_orders', from: 'store', select: 'changed' }],
    request: { path: '/g_lines/{{ each.order.id }}' },
    response: { records: 'data' },
    pagination: { kind: 'offset', size: 10, total: 'body.total', inject: { in: 'query', name: 'offset' } },
  };
  await using of = await account({ key: 'gap', resources: [{ key: 'g_orders' }, child] });
  const both = async () => {
    await of.sync('g_orders');
    return (await of.sync('g_lines')).statsJson.recordsIn;
  };
  expect(await both()).toBeGreaterThanOrEqual(2);
  lines = [1, 2, 3];
  expect(await both()).toBe(3);
  expect(await of.live('g_lines')).toEqual(['1', '2', '3']);
  expect(await both()).toBe(0);
  changed = day(2);
  expect(await both()).toBe(3);
});
