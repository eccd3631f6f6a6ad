import { describe, expect, it } from 'vitest';
import { syncRunId } from '../../workflows/contract.ts';
import { type Account, type AccountOptions, openAccount } from '../support/account.ts';
import { createAsked } from '../support/asked.ts';
import { eventually } from '../support/eventually.ts';
import { inFlightMax } from '../support/exactly-once.ts';
import { createScriptedApi } from '../support/scripted-api.ts';
import type { UpstreamRequest } from '../support/upstream.ts';
import { useStack } from '../support/use-stack.ts';

const api = createScriptedApi();
const shared = useStack({ answer: api.answer });

const account = (parts: Omit<AccountOptions, 'baseUrl'>): Promise<Account> =>
  openAccount(shared().stack, { baseUrl: shared().upstream.url, ...parts });

const asked = createAsked(() => shared().upstream);
/** The second segment of a path. */
const partOf = ({ url }: Pick<UpstreamRequest, 'url'>): string => url.split(/[/?]/)[2] ?? '';
const partsAsked = (name: string) => asked(name).map(({ pathname }) => pathname.split('/')[2]);

const day = (no: number) => new Date(Date.UTC(2025, 0, no)).toISOString();
const incremental = { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc', settle: 'PT0S' };
const byToken = { kind: 'cursor', next: 'body.next', inject: { in: 'query', name: 'page' } };

interface Row {
  readonly id: number | string;
  readonly at: string;
}

/** A resource that is read once per project of the connection, and the API of it: rows by project. */
function perProject(key: string, rows: Record<string, readonly Row[] | { readonly status: number }>) {
  api.serve(key, (query, request) => {
    const found = rows[partOf(request)] ?? [];
    if ('status' in found) return { status: found.status };
    return { body: found.filter(({ at }) => at >= (query.get('since') ?? '')) };
  });
  return {
    key,
    primaryKey: ['project', 'id'],
    forEach: [{ as: 'project', values: '{{ params.projects }}' }],
    request: { path: `/${key}/{{ each.project }}`, query: { since: '{{ window.from }}' } },
    response: { addFields: { project: 'each.project' } },
    incremental,
  };
}

describe('a list of values', () => {
  it('is read once per value, each from its own watermark; that of the run is the lowest', async () => {
    const rows: Record<string, readonly Row[]> = {
      a: [
        { id: 1, at: day(1) },
        { id: 2, at: day(5) },
      ],
      b: [{ id: 1, at: day(3) }],
    };
    const items = perProject('items', rows);
    await using of = await account({ key: 'items', resources: [items], params: { projects: ['a', 'b'] } });
    expect(await of.sync('items')).toMatchObject({
      status: 'succeeded',
      watermarkBefore: null,
      watermarkAfter: day(3),
      statsJson: { recordsIn: 3, recordsOut: 3 },
    });
    expect(await of.watermarks('items')).toEqual({ a: day(5), b: day(3) });
    expect(await of.live('items')).toEqual(['["a",1]', '["a",2]', '["b",1]']);
    asked('items');

    rows['b'] = [...(rows['b'] ?? []), { id: 2, at: day(9) }];
    expect(await of.sync('items')).toMatchObject({ watermarkBefore: day(3), watermarkAfter: day(5) });
    expect(asked('items').map(({ pathname, searchParams }) => [pathname, searchParams.get('since')])).toEqual([
      ['/items/a', day(5)],
      ['/items/b', day(3)],
    ]);
  });

  it('gives the run no watermark while one of its partitions has none', async () => {
    const rows: Record<string, readonly Row[]> = { a: [{ id: 1, at: day(1) }], b: [] };
    const sparse = perProject('sparse', rows);
    await using of = await account({ key: 'sparse', resources: [sparse], params: { projects: ['a', 'b'] } });
    expect(await of.sync('sparse')).toMatchObject({ status: 'succeeded', watermarkAfter: null });
    expect(await of.watermarks('sparse')).toEqual({ a: day(1), b: null });
    rows['b'] = [{ id: 1, at: day(2) }];
    expect(await of.sync('sparse')).toMatchObject({ watermarkBefore: null, watermarkAfter: day(1) });
  });

  it('gives a run that ends before it came to all of them none either', async () => {
    const rows = { a: [{ id: 1, at: day(1) }], b: [{ id: 1, at: day(2) }] };
    const cut = { ...perProject('cut', rows), limits: { maxRecords: 1 } };
    await using of = await account({ key: 'cut', resources: [cut], params: { projects: ['a', 'b'] } });
    expect(await of.sync('cut')).toMatchObject({ status: 'partial', watermarkAfter: null });
  });

  it('may be empty: nothing is asked for and the run succeeds', async () => {
    const none = perProject('none', {});
    await using of = await account({ key: 'none', resources: [none], params: { projects: [] } });
    expect(await of.sync('none')).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 0 } });
    expect(asked('none')).toEqual([]);
  });

  it('multiplies with a second one, whose values change fastest', async () => {
    api.serve('grid', () => ({ body: [{ id: 1 }] }));
    const grid = {
      key: 'grid',
      primaryKey: ['row', 'column', 'id'],
      forEach: [
        { as: 'row', values: '{{ params.rows }}' },
        { as: 'column', values: '{{ [1, 2] }}' },
      ],
      request: { path: '/grid/{{ each.row }}/{{ each.column }}' },
      response: { addFields: { row: 'each.row', column: 'each.column' } },
    };
    await using of = await account({ key: 'grid', resources: [grid], params: { rows: ['a', 'b'] } });
    expect(await of.sync('grid')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 4 } });
    expect(asked('grid').map(({ pathname }) => pathname)).toEqual(['/grid/a/1', '/grid/a/2', '/grid/b/1', '/grid/b/2']);
    expect(Object.keys(await of.watermarks('grid')).toSorted()).toEqual([
      '["a","1"]',
      '["a","2"]',
      '["b","1"]',
      '["b","2"]',
    ]);
  });

  it('edge case 5: has no limit of length', async () => {
    const values = 2500;
    api.serve('many', (_query, request) => ({ body: [{ id: Number(partOf(request)) }] }));
    const many = {
      key: 'many',
      forEach: [{ as: 'no', values: `{{ [1..${values}] }}` }],
      request: { path: '/many/{{ each.no }}' },
    };
    await using of = await account({ key: 'many', resources: [many] });
    expect(await of.sync('many')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: values } });
    expect(new Set(partsAsked('many')).size).toBe(values);
  }, 120_000);
});

interface Parent {
  readonly id: number;
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

  it('edge case 4: a parent that is new after the first sync is read from the beginning', async () => {
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
    expect(asked('new_notes').map(({ pathname, searchParams }) => [pathname, searchParams.get('since')])).toEqual([
      ['/new_notes/1', day(1)],
      ['/new_notes/2', begin],
    ]);
  });
});

describe('a resource that comes below one that is synced already', () => {
  it('finds its parents once they were read again, which the plan of the upgrade recommends', async () => {
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
      { resourceKey: 'owners', backfillRecommended: true },
      { resourceKey: 'pets' },
    ]);
    await of.backfill('owners');
    await of.sync('pets');
    expect(await of.live('pets')).toEqual(['of 1', 'of 2']);
  });
});

describe('parents that are read live', () => {
  it('edge case 6: gives the children of every page of parents, and delivers no parent', async () => {
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
});

describe('a partition that the API refuses', () => {
  const errors = [{ when: { status: [404] }, action: 'skip_partition' }];
  const params = { projects: ['a', 'b', 'c'] };

  it('is left out with its watermark as it is, the others advance, and the run is partial', async () => {
    const rows: Parameters<typeof perProject>[1] = Object.fromEntries(
      params.projects.map((project) => [project, [{ id: 1, at: day(1) }]]),
    );
    await using of = await account({ key: 'gaps', resources: [{ ...perProject('gaps', rows), errors }], params });
    expect((await of.sync('gaps')).status).toBe('succeeded');

    const later = [
      { id: 1, at: day(1) },
      { id: 2, at: day(5) },
    ];
    Object.assign(rows, { a: later, b: { status: 404 }, c: later });
    const skipped = await of.sync('gaps');
    expect(skipped).toMatchObject({ status: 'partial', error: null, watermarkBefore: day(1), watermarkAfter: day(1) });
    expect(await of.watermarks('gaps')).toEqual({ a: day(5), b: day(1), c: day(5) });

    rows['b'] = later;
    asked('gaps');
    expect(await of.sync('gaps')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
    expect(asked('gaps')[1]?.searchParams.get('since')).toBe(day(1));
  });

  it('fails the run when all of them are', async () => {
    const refused = Object.fromEntries(params.projects.map((project) => [project, { status: 404 }]));
    const resources = [{ ...perProject('refused', refused), errors }];
    await using of = await account({ key: 'refused', resources, params });
    const { status, error } = await of.sync('refused');
    expect(status).toBe('failed');
    expect(error).toMatchObject({ code: 'source_rejected', message: expect.stringContaining('all 3 partitions') });
  });

  it('edge case 7: fails the run in the middle of its pages, and is read again from there', async () => {
    let broken = true;
    api.serve('middle', (query, request) => {
      const page = Number(query.get('page') ?? 1);
      if (broken && partOf(request) === 'b' && page === 2) return { status: 400 };
      const data = [{ id: `${partOf(request)}${page}`, at: day(page) }];
      return { body: { data, next: page < 3 ? String(page + 1) : null } };
    });
    const middle = { ...perProject('middle_', {}), key: 'middle', primaryKey: 'id' };
    const request = { path: '/middle/{{ each.project }}', query: { since: '{{ window.from }}' } };
    const resources = [{ ...middle, request, response: { records: 'data' }, pagination: byToken }];
    await using of = await account({ key: 'middle', resources, params });
    expect(await of.sync('middle')).toMatchObject({ status: 'failed', error: { code: 'source_rejected' } });
    expect(await of.live('middle')).toEqual(['a1', 'a2', 'a3', 'b1']);
    expect(await of.watermarks('middle')).toEqual({ a: day(3), b: day(1) });
    broken = false;
    expect((await of.sync('middle')).status).toBe('succeeded');
    expect(await of.live('middle')).toHaveLength(9);
  });
});

describe('a run of a resource below another', () => {
  it.each([
    ['forEach', { forEach: [{ as: 'parent', resource: 'above', from: 'store' }] }, '/below/{{ each.parent.id }}'],
    ['dependsOn', { dependsOn: ['above'] }, '/below'],
  ])('waits by its %s while a run of that is under way', async (by, parts, path) => {
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
      return events?.some(({ activityTaskCompletedEventAttributes: answered }) => answered);
    });
    expect(await of.ask('GET', '')).toMatchObject({ status: 'active' });
    expect((await stack.org.call('GET', `/runs/${below}`)).body.status).toBe('queued');
    gate.release();
    const [first, second] = [await of.ended(above), await of.ended(below)];
    expect(second.status).toBe('succeeded');
    expect(Date.parse(second.startedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(first.finishedAt ?? ''));
  });
});

describe('a worker killed in the middle of a run over partitions', () => {
  it('loses nothing and doubles nothing, and only pages in flight are fetched again', async () => {
    const [partitions, pages, perPage] = [20, 5, 50];
    const total = partitions * pages;
    const { promise: half, resolve } = Promise.withResolvers<void>();
    let served = 0;
    api.serve('killed', (query, request) => {
      served += 1;
      if (served === total / 2) setImmediate(resolve);
      const page = Number(query.get('page') ?? 1);
      const first = (Number(partOf(request)) * pages + page) * perPage;
      const data = Array.from({ length: perPage }, (_, no) => ({ id: first + no, at: day(page) }));
      return { body: { data, next: page < pages ? String(page + 1) : null } };
    });
    const killed = {
      key: 'killed',
      forEach: [{ as: 'no', values: `{{ [1..${partitions}] }}` }],
      request: { path: '/killed/{{ each.no }}' },
      response: { records: 'data' },
      pagination: byToken,
      incremental,
    };
    await using of = await account({ key: 'killed', resources: [killed] });
    const { upstream, stack } = shared();
    upstream.pause();
    const first = upstream.requested(upstream.journal.length + 1);
    const runId = await of.request('killed');
    await first;
    await of.destination.audit('killed');
    upstream.resume();
    await half;
    await stack.killWorker('SIGKILL');
    await of.destination.quiet();
    const before = asked('killed').length;
    const inFlight = before - (await of.live('killed')).length / perPage;
    expect(inFlight).toBeLessThanOrEqual(inFlightMax(perPage));
    await stack.startWorker();

    const records = total * perPage;
    const stats = { recordsIn: records, recordsOut: records, skipped: 0, deleted: 0, quarantined: 0 };
    expect(await of.ended(runId)).toMatchObject({ status: 'succeeded', statsJson: stats });
    expect(await of.destination.writes()).toEqual({ rows: records, inserts: records, updates: 0, deletes: 0 });
    expect(before + asked('killed').length).toBeLessThanOrEqual(total + inFlight);
    expect(Object.values(await of.watermarks('killed'))).toEqual(Array.from({ length: partitions }, () => day(pages)));
  });
});
