import { describe, expect, it } from 'vitest';
import { inFlightMax } from '../support/sync/exactly-once.ts';
import { useAccounts } from '../support/sync/use-accounts.ts';
import { createAsked } from '../support/upstream/asked.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';
import type { UpstreamRequest } from '../support/upstream/upstream.ts';

const api = createScriptedApi();
const { account, shared } = useAccounts(api);

const asked = createAsked(() => shared().upstream);
/** The second segment of a path. */
const partOf = ({ url }: Pick<UpstreamRequest, 'url'>): string => url.split(/[/?]/)[2] ?? '';
const partsAsked = (name: string) => asked(name).map(({ pathname }) => pathname.split('/')[2]);

const day = (no: number) => new Date(Date.UTC(2025, 0, no)).toISOString();
const incremental = { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc', settle: 'PT0S' };
/** Of such a list each page is claimed, as no record without a time comes last. */
const timed = { ...incremental, cursor: { ...incremental.cursor, missing: 'exclude' } };
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
    const starts = asked('items').map(({ pathname, searchParams }) => [pathname, searchParams.get('since')]);
    expect(Object.fromEntries(starts)).toEqual({ '/items/a': day(5), '/items/b': day(3) });
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
    const cut = { ...perProject('cut', rows), incremental: timed, limits: { maxRecords: 1 } };
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
    const paths = asked('grid').map(({ pathname }) => pathname);
    expect(paths.toSorted()).toEqual(['/grid/a/1', '/grid/a/2', '/grid/b/1', '/grid/b/2']);
    expect(Object.keys(await of.watermarks('grid')).toSorted()).toEqual([
      '["a","1"]',
      '["a","2"]',
      '["b","1"]',
      '["b","2"]',
    ]);
  });

  it('requests several values at once, up to the limit of the API, and delivers them in order', async () => {
    const { upstream } = shared();
    const projects = Array.from({ length: 9 }, (_, no) => `p${no}`);
    const wide = { ...perProject('wide', {}), target: { table: 'wide', mode: 'append' } };
    api.serve('wide', (_query, request) => ({ body: [{ id: partOf(request), at: day(1) }] }));
    await using of = await account({ key: 'wide', resources: [wide], params: { projects } });
    const before = upstream.journal.length;
    upstream.pause();
    const runId = await of.request('wide');
    await upstream.requested(before + 4);
    upstream.resume();
    expect(await of.ended(runId)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: projects.length } });
    const rows = await of.destination.query<{ id: string }>('select id from wide order by _seq');
    expect(rows.map(({ id }) => id)).toEqual(projects);
  });

  it('has no limit of length', async () => {
    const values = 2000;
    api.serve('many', (_query, request) => ({ body: [{ id: Number(partOf(request)) }] }));
    const many = {
      key: 'many',
      forEach: [{ as: 'no', values: `{{ [1..${values}] }}` }],
      request: { path: '/many/{{ each.no }}' },
    };
    await using of = await account({ key: 'many', resources: [many] });
    expect(await of.sync('many')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: values } });
    expect(new Set(partsAsked('many')).size).toBe(values);
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
    const ofB = asked('gaps').find(({ pathname }) => pathname === '/gaps/b');
    expect(ofB?.searchParams.get('since')).toBe(day(1));
  });

  it('fails the run when all of them are', async () => {
    const refused = Object.fromEntries(params.projects.map((project) => [project, { status: 404 }]));
    const resources = [{ ...perProject('refused', refused), errors }];
    await using of = await account({ key: 'refused', resources, params });
    const { status, error } = await of.sync('refused');
    expect(status).toBe('failed');
    expect(error).toMatchObject({ code: 'source_rejected', message: expect.stringContaining('all 3 partitions') });
  });

  it('fails the run in the middle of its pages, and is read again from there', async () => {
    let broken = true;
    api.serve('middle', (query, request) => {
      const page = Number(query.get('page') ?? 1);
      if (broken && partOf(request) === 'b' && page === 2) return { status: 400 };
      const data = [{ id: `${partOf(request)}${page}`, at: day(page) }];
      return { body: { data, next: page < 3 ? String(page + 1) : null } };
    });
    const middle = { ...perProject('middle_', {}), key: 'middle', primaryKey: 'id' };
    const request = { path: '/middle/{{ each.project }}', query: { since: '{{ window.from }}' } };
    const resources = [{ ...middle, request, response: { records: 'data' }, incremental: timed, pagination: byToken }];
    await using of = await account({ key: 'middle', resources, params });
    expect(await of.sync('middle')).toMatchObject({ status: 'failed', error: { code: 'source_rejected' } });
    expect(await of.live('middle')).toEqual(['a1', 'a2', 'a3', 'b1']);
    expect(await of.watermarks('middle')).toEqual({ a: day(3), b: day(1) });
    broken = false;
    expect((await of.sync('middle')).status).toBe('succeeded');
    expect(await of.live('middle')).toHaveLength(9);
  });
});

describe('a worker killed in the middle of a run over partitions', () => {
  it('at the first page of a later run leaves all partitions to its successor', async () => {
    const rows: Record<string, readonly Row[]> = { a: [{ id: 1, at: day(1) }], b: [{ id: 1, at: day(1) }] };
    await using of = await account({
      key: 'early',
      resources: [perProject('early', rows)],
      params: { projects: ['a', 'b'] },
    });
    await of.sync('early');
    rows['b'] = [{ id: 2, at: day(2) }];
    const { upstream, stack } = shared();
    const gate = upstream.hold(upstream.journal.length + 1);
    const runId = await of.request('early');
    await gate.reached;
    await stack.killWorker('SIGKILL');
    gate.release();
    await stack.startWorker();
    expect(await of.ended(runId)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
    expect(await of.watermarks('early')).toEqual({ a: day(1), b: day(2) });
  });

  it('loses nothing and doubles nothing, and only pages in flight are fetched again', async () => {
    const [partitions, pages, perPage] = [20, 5, 250];
    // Three partitions are begun ahead of the one that is read, each as far as one is.
    const atOnce = 1 + 3 * 4;
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
    expect(inFlight).toBeLessThanOrEqual(inFlightMax(perPage, atOnce));
    await stack.startWorker();

    const records = total * perPage;
    const stats = { recordsIn: records, recordsOut: records, skipped: 0, deleted: 0, quarantined: 0 };
    expect(await of.ended(runId)).toMatchObject({ status: 'succeeded', statsJson: stats });
    expect(await of.destination.writes()).toEqual({ rows: records, inserts: records, updates: 0, deletes: 0 });
    expect(before + asked('killed').length).toBeLessThanOrEqual(total + inFlight);
    expect(Object.values(await of.watermarks('killed'))).toEqual(Array.from({ length: partitions }, () => day(pages)));
  });
});
