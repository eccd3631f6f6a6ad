import { describe, expect, it } from 'vitest';
import { syncRunId } from '../../workflows/contract.ts';
import { eventually } from '../support/service/eventually.ts';
import { useAccounts } from '../support/sync/use-accounts.ts';
import { createAsked } from '../support/upstream/asked.ts';
import { createScriptedApi, type ScriptedReply } from '../support/upstream/scripted-api.ts';
import type { UpstreamRequest } from '../support/upstream/upstream.ts';

const api = createScriptedApi();
const { account, shared } = useAccounts(api);

const asked = createAsked(() => shared().upstream);
/** The second segment of a path. */
const partOf = ({ url }: Pick<UpstreamRequest, 'url'>): string => url.split(/[/?]/)[2] ?? '';
/** In the order of the numbers: partitions are asked for several at once. */
const partsAsked = (name: string) =>
  asked(name)
    .map(({ pathname }) => pathname.split('/')[2])
    .toSorted((a, b) => Number(a) - Number(b));

const day = (no: number) => new Date(Date.UTC(2025, 0, no)).toISOString();
const incremental = { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc', settle: 'PT0S' };
const byToken = { kind: 'cursor', next: 'body.next', inject: { in: 'query', name: 'page' } };

interface Parent {
  readonly id?: number;
  readonly name: string;
  readonly notes: number;
}

/** Parents `{prefix}_accounts`, and their children `{prefix}_notes`, which are read once per stored parent with notes. */
function family(prefix: string, parents: () => readonly Parent[], child: Readonly<Record<string, unknown>> = {}) {
  const [accounts, notes] = [`${prefix}_accounts`, `${prefix}_notes`];
  api.serve(accounts, () => ({ body: parents() }));
  api.serve(notes, (_query, request) => ({ body: [{ id: `note of ${partOf(request)}`, at: day(1) }] }));
  return [
    { key: accounts },
    {
      key: notes,
      forEach: [{ as: 'account', resource: accounts, from: 'store', select: 'changed', when: 'notes > 0' }],
      request: { path: `/${notes}/{{ each.account.id }}`, query: { since: '{{ window.from }}' } },
      ...child,
    },
  ] as const;
}

describe('stored parents', () => {
  it('are kept with the fields that children refer to, and no others; `when` chooses among them', async () => {
    const resources = family('kept', () => [
      { id: 1, name: 'a', notes: 2 },
      { id: 2, name: 'b', notes: 0 },
    ]);
    await using of = await account({ key: 'kept', resources });
    await of.sync('kept_accounts');
    const { db } = shared().stack;
    const stored = db.selectFrom('recordState').innerJoin('lanes', 'lanes.id', 'recordState.laneId');
    const fields = stored.select('fields').where('connectionId', '=', of.connectionId).orderBy('externalId');
    expect(await fields.execute()).toEqual([{ fields: { id: 1, notes: 2 } }, { fields: { id: 2, notes: 0 } }]);

    expect(await of.sync('kept_notes')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
    expect(partsAsked('kept_notes')).toEqual(['1']);
    const children = await db
      .selectFrom('recordState')
      .innerJoin('lanes', 'lanes.id', 'recordState.laneId')
      .select('fields')
      .where('connectionId', '=', of.connectionId)
      .where('resourceKey', '=', 'kept_notes')
      .execute();
    expect(children).toEqual([{ fields: null }]);
  });

  it('without a key are nobody’s: they are quarantined, and cost their children only', async () => {
    let parents: readonly Parent[] = [
      { id: 1, name: 'a', notes: 1 },
      { name: 'b', notes: 1 },
    ];
    const resources = family('keyless', () => parents);
    const [accounts, notes] = resources;
    await using of = await account({ key: 'keyless', resources: [{ ...accounts, onInvalid: 'quarantine' }, notes] });
    expect((await of.sync('keyless_accounts')).status).toBe('partial');
    const run = await of.sync('keyless_notes');
    expect(run).toMatchObject({ status: 'partial', notes: { parents_incomplete: 1 }, statsJson: { recordsOut: 1 } });
    expect(await of.sync('keyless_accounts')).toMatchObject({ status: 'succeeded', notes: { key_missing: 1 } });
    expect((await of.sync('keyless_notes')).status).toBe('partial');
    parents = parents.map((parent, index) => ({ ...parent, id: index + 1 }));
    expect(await of.sync('keyless_accounts')).toMatchObject({ status: 'succeeded', notes: {} });
    expect(await of.sync('keyless_notes')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
  });

  it('that did not change since their children were read are not asked for again', async () => {
    let parents = [1, 2, 3].map((id) => ({ id, name: 'a', notes: 1 }));
    const resources = family('changed', () => parents);
    await using of = await account({ key: 'changed', resources });
    const both = async () => {
      await of.sync('changed_accounts');
      return await of.sync('changed_notes');
    };
    await both();
    expect(partsAsked('changed_notes')).toEqual(['1', '2', '3']);

    expect(await both()).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 0 } });
    expect(partsAsked('changed_notes')).toEqual([]);

    parents = parents.map((parent) => (parent.id === 2 ? { ...parent, name: 'b' } : parent));
    await both();
    expect(partsAsked('changed_notes')).toEqual(['2']);
  });

  const named = { transform: "{ 'id': id, 'at': at, 'team': $each.team.name }" };
  it.each([
    ['changed', 'made', named],
    ['all', 'made', named],
    ['all', 'added', { response: { addFields: { team: 'each.team.name' } } }],
  ])('by another name have all their children delivered with it: select %s, %s', async (select, how, shape) => {
    let name = 'a';
    const [teams, players] = [`${select}_${how}_teams`, `${select}_${how}_players`];
    api.serve(teams, () => ({ body: [{ id: 1, name }] }));
    api.serve(players, (query) => ({
      body: [1, 2].map((no) => ({ id: no, at: day(no) })).filter(({ at }) => at >= (query.get('since') ?? '')),
    }));
    const child = {
      key: players,
      forEach: [{ as: 'team', resource: teams, from: 'store', select }],
      request: { path: `/${players}/{{ each.team.id }}`, query: { since: '{{ window.from }}' } },
      incremental: { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc', settle: 'PT0S' },
      ...shape,
    };
    await using of = await account({ key: `${select}-${how}`, resources: [{ key: teams }, child] });
    const both = async () => {
      await of.sync(teams);
      return await of.sync(players);
    };
    expect(await both()).toMatchObject({ statsJson: { recordsOut: 2 }, watermarkAfter: day(2) });
    expect(await both()).toMatchObject({ statsJson: { recordsOut: 0 } });
    name = 'b';
    expect(await both()).toMatchObject({ statsJson: { recordsIn: 2, recordsOut: 2 }, watermarkAfter: day(2) });
    expect((await of.rows(players, ['team'])).map(({ team }) => team)).toEqual(['b', 'b']);
    const again = select === 'all' ? 1 : 0;
    expect(await both()).toMatchObject({ statsJson: { recordsIn: again, recordsOut: 0 } });
  });

  it('whose children could not be read are asked for again although they did not change', async () => {
    const resources = family('torn', () => [1, 2].map((id) => ({ id, name: 'a', notes: 1 })));
    await using of = await account({ key: 'torn', resources });
    await of.sync('torn_accounts');
    let broken = true;
    api.serve('torn_notes', (_query, request) =>
      broken && partOf(request) === '2' ? { status: 400 } : { body: [{ id: partOf(request) }] },
    );
    expect((await of.sync('torn_notes')).status).toBe('failed');
    asked('torn_notes');
    broken = false;
    expect(await of.sync('torn_notes')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
    expect(partsAsked('torn_notes')).toEqual(['2']);
  });

  it('of which only some were read again since they were forgotten delete nothing of the others', async () => {
    const size = 5;
    let isBroken = false;
    api.serve('half_crews', (query) => {
      const page = Number(query.get('page') ?? 1);
      if (isBroken && page > 1) return { status: 400 };
      const data = Array.from({ length: size }, (_, no) => ({ id: (page - 1) * size + no, isBroken }));
      return { body: { data, next: page === 1 ? '2' : null } };
    });
    api.serve('half_sailors', (_query, request) => ({ body: [{ id: `of ${partOf(request)}` }] }));
    const resources = [
      { key: 'half_crews', response: { records: 'data' }, pagination: byToken },
      {
        key: 'half_sailors',
        forEach: [{ as: 'crew', resource: 'half_crews', from: 'store' }],
        request: { path: '/half_sailors/{{ each.crew.id }}' },
        deletes: { mode: 'full_scan', effect: 'hard' },
      },
    ];
    await using of = await account({ key: 'half', resources });
    // Nothing is known of the parents yet.
    expect(await of.sync('half_sailors')).toMatchObject({ status: 'partial', notes: { parents_incomplete: 1 } });
    await of.sync('half_crews');
    expect(await of.sync('half_sailors')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 10 } });
    await of.destination.query('drop table half_crews');
    isBroken = true;
    expect(await of.sync('half_crews')).toMatchObject({ status: 'failed', statsJson: { recordsOut: size } });
    const half = { status: 'partial', notes: { parents_incomplete: 2 }, statsJson: { recordsIn: size, deleted: 0 } };
    expect(await of.sync('half_sailors')).toMatchObject(half);
    expect(await of.live('half_sailors')).toHaveLength(10);
    isBroken = false;
    await of.sync('half_crews');
    expect(await of.sync('half_sailors')).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 10 } });
  });

  it('whose children the API refuses leave a run partial that reads only changed parents, which reads them again', async () => {
    let parents = [1, 2].map((id) => ({ id, name: 'a', notes: 1 }));
    const [accounts, notes] = family('refused', () => parents);
    const errors = [{ when: { status: [404] }, action: 'skip_partition' }];
    await using of = await account({ key: 'refused', resources: [accounts, { ...notes, errors }] });
    await of.sync('refused_accounts');
    await of.sync('refused_notes');
    asked('refused_notes');
    api.serve('refused_notes', () => ({ status: 404 }));
    parents = parents.map((parent) => (parent.id === 2 ? { ...parent, name: 'b' } : parent));
    await of.sync('refused_accounts');
    for (let time = 0; time < 2; time += 1) {
      expect(await of.sync('refused_notes')).toMatchObject({ status: 'partial', notes: { partition_skipped: 1 } });
      expect(partsAsked('refused_notes')).toEqual(['2']);
    }
  });

  it('a parent that is new after the first sync is read from the beginning', async () => {
    const parents = [{ id: 1, name: 'a', notes: 1 }];
    const begin = '2020-01-01T00:00:00.000Z';
    const resources = family('new', () => parents, { incremental: { ...incremental, initial: begin } });
    await using of = await account({ key: 'new', resources });
    await of.sync('new_accounts');
    await of.sync('new_notes');
    asked('new_notes');

    parents[0] = { id: 1, name: 'b', notes: 1 };
    parents.push({ id: 2, name: 'a', notes: 1 });
    await of.sync('new_accounts');
    await of.sync('new_notes');
    const starts = asked('new_notes').map(({ pathname, searchParams }) => [pathname, searchParams.get('since')]);
    expect(Object.fromEntries(starts)).toEqual({ '/new_notes/1': day(1), '/new_notes/2': begin });
  });
});

describe('a resource that comes below one that is synced already', () => {
  it('finds its parents once they were read again, which the next run does from the start', async () => {
    const parents = [
      { id: 1, at: day(1) },
      { id: 2, at: day(2) },
    ];
    api.serve('owners', (query) => ({ body: parents.filter(({ at }) => at >= (query.get('since') ?? '')) }));
    api.serve('pets', (_query, request) => ({ body: [{ id: `of ${partOf(request)}` }] }));
    const owners = { key: 'owners', request: { path: '/owners', query: { since: '{{ window.from }}' } }, incremental };
    const pets = {
      key: 'pets',
      forEach: [{ as: 'owner', resource: 'owners', from: 'store' }],
      request: { path: '/pets/{{ each.owner.id }}' },
    };
    await using of = await account({ key: 'owners', resources: [owners] });
    await of.sync('owners');
    const { plan } = await of.upgrade('2.0.0', [owners, pets]);
    expect(plan.resources).toMatchObject([
      { resourceKey: 'owners', resets: 'watermark', redelivers: 'everything' },
      { resourceKey: 'pets' },
    ]);
    await of.sync('owners');
    await of.sync('pets');
    expect(await of.live('pets')).toEqual(['of 1', 'of 2']);
  });
});

describe('parents that are read live', () => {
  it('gives the children of every page of parents, and delivers no parent', async () => {
    api.serve('teams', (query) => {
      const page = Number(query.get('page') ?? 1);
      const data = [1, 2, 3].map((no) => ({ id: page * 10 + no, archived: no === 3 }));
      return { body: { data, next: page < 4 ? String(page + 1) : null } };
    });
    api.serve('members', (_query, request) => ({ body: [{ id: `of ${partOf(request)}` }] }));
    const resources = [
      { key: 'teams', response: { records: 'data' }, pagination: byToken, filter: 'archived = false' },
      {
        key: 'members',
        forEach: [{ as: 'team', resource: 'teams', from: 'live', when: 'id != 42' }],
        request: { path: '/members/{{ each.team.id }}' },
      },
    ];
    await using of = await account({ key: 'teams', resources });
    expect(await of.sync('members')).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 7, recordsOut: 7 } });
    expect(partsAsked('members')).toEqual(['11', '12', '21', '22', '31', '32', '41']);
    const tables = await of.destination.query("select from pg_tables where tablename = 'teams'");
    expect(tables).toEqual([]);
  });

  it.each([
    ['refused', { 1: { status: 403 } }, 'failed'],
    ['not shown', { 2: { body: {} } }, 'partial'],
  ])('and are %s cost no child its record', async (what, broken: Readonly<Record<number, ScriptedReply>>, status) => {
    const key = `crews_${what.replace(' ', '_')}`;
    let isBroken = false;
    api.serve(key, (query) => {
      const page = Number(query.get('page') ?? 1);
      const given = isBroken ? broken[page] : undefined;
      return given ?? { body: { data: [{ id: page }], next: page < 3 ? String(page + 1) : null } };
    });
    api.serve(`${key}_sailors`, (_query, request) => ({ body: [{ id: `of ${partOf(request)}` }] }));
    const resources = [
      {
        key,
        response: { records: 'data', recordsMissing: 'empty' },
        pagination: byToken,
        errors: [{ when: { status: [403] }, action: 'skip_partition' }],
      },
      {
        key: `${key}_sailors`,
        forEach: [{ as: 'crew', resource: key, from: 'live' }],
        request: { path: `/${key}_sailors/{{ each.crew.id }}` },
        deletes: { mode: 'full_scan' },
      },
    ];
    await using of = await account({ key: key.replaceAll('_', '-'), resources });
    await of.sync(`${key}_sailors`);
    isBroken = true;
    expect(await of.sync(`${key}_sailors`)).toMatchObject({ status, statsJson: { deleted: 0 } });
    expect(await of.live(`${key}_sailors`)).toEqual(['of 1', 'of 2', 'of 3']);
  });

  it('are listed on by another process when the one at it dies', async () => {
    const pages = 20;
    api.serve('groups', (query) => {
      const page = Number(query.get('page') ?? 1);
      return { body: { data: [{ id: page }], next: page < pages ? String(page + 1) : null } };
    });
    api.serve('users', (_query, request) => ({ body: [{ id: Number(partOf(request)) }] }));
    const resources = [
      { key: 'groups', response: { records: 'data' }, pagination: byToken },
      {
        key: 'users',
        forEach: [{ as: 'group', resource: 'groups', from: 'live' }],
        request: { path: '/users/{{ each.group.id }}' },
      },
    ];
    await using of = await account({ key: 'groups', resources });
    const { upstream, stack } = shared();
    const gate = upstream.hold(upstream.journal.length + 10);
    const runId = await of.request('users');
    await gate.reached;
    await eventually('pages before it are kept', async () => {
      const kept = stack.db.selectFrom('runDimensions').select('no').where('runId', '=', runId);
      return (await kept.execute()).length === 9;
    });
    await stack.killWorker('SIGKILL');
    gate.release();
    await stack.startWorker();
    expect(await of.ended(runId)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: pages } });
    expect(asked('groups')).toHaveLength(pages + 1);
    expect(partsAsked('users')).toEqual(Array.from({ length: pages }, (_, no) => String(no + 1)));
  });
});

describe('a run of a resource below another', () => {
  it.each([
    ['forEach', { forEach: [{ as: 'parent', resource: 'above', from: 'store' }] }, '/below/{{ each.parent.id }}'],
    ['dependsOn', { dependsOn: ['above'] }, '/below'],
  ])('waits by its %s while a run of that is in progress', async (by, parts, path) => {
    api.serve('above', () => ({ body: [{ id: 1 }] }));
    api.serve('below', () => ({ body: [{ id: 1 }] }));
    const resources = [{ key: 'above' }, { key: 'below', request: { path }, ...parts }];
    await using of = await account({ key: `waits-${by.toLowerCase()}`, resources });
    const { upstream, stack } = shared();
    const gate = upstream.hold(upstream.journal.length + 1);
    const above = await of.request('above');
    await gate.reached;
    const below = await of.request('below');
    await eventually('the run below has asked for its turn', async () => {
      const id = syncRunId({ connectionId: of.connectionId, resourceKey: 'below', runId: below });
      const { events } = await stack.temporal.client.workflow.getHandle(id).fetchHistory();
      return events?.some(({ activityTaskCompletedEventAttributes: replied }) => replied);
    });
    expect(await of.ask('GET', '')).toMatchObject({ status: 'active' });
    expect((await stack.org.call('GET', `/runs/${below}`)).body.status).toBe('queued');
    gate.release();
    const [first, second] = [await of.ended(above), await of.ended(below)];
    expect(second.status).toBe('succeeded');
    expect(Date.parse(second.startedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(first.finishedAt ?? ''));
  });
});
