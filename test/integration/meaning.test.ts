import { describe, expect, it } from 'vitest';
import { useAccounts } from '../support/sync/use-accounts.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';
import type { UpstreamRequest } from '../support/upstream/upstream.ts';

const api = createScriptedApi();
const { account, shared } = useAccounts(api);

const day = (no: number) => new Date(Date.UTC(2025, 0, no)).toISOString();
const cursor = (parts: object) => ({ kind: 'cursor', cursor: parts, order: 'asc', settle: 'PT0S' });

interface Item {
  readonly id: number;
  readonly [field: string]: unknown;
}

/** Serves a list that is filtered by `field`, as `since` asks. */
function serveBy(name: string, items: () => readonly Item[], field: () => string) {
  api.serve(name, (query) => ({
    body: items().filter((item) => String(item[field()]) >= (query.get('since') ?? '')),
  }));
}

const since = { query: { since: '{{ window.from }}' } };

describe('what is stored of a resource', () => {
  it('is not compared with values of another cursor: records that change after the upgrade are delivered', async () => {
    let field = 'modified';
    let items: Item[] = [1, 2, 3].map((id) => ({ id, modified: day(200 + id), stamp: day(id), n: 'old' }));
    serveBy(
      'moved',
      () => items,
      () => field,
    );
    const resource = (name: string) => ({
      key: 'moved',
      request: { path: '/moved', ...since },
      incremental: cursor({ field: name, type: 'datetime' }),
    });
    await using of = await account({ key: 'moved', resources: [resource('modified')] });
    await of.sync('moved');
    items = items.map((item) => ({ ...item, stamp: day(item.id + 10), n: 'new' }));
    field = 'stamp';
    const { plan } = await of.upgrade('2.0.0', [resource('stamp')]);
    expect(plan.resources).toMatchObject([{ resets: 'watermark' }]);
    const run = await of.sync('moved');
    expect(run).toMatchObject({ status: 'succeeded', notes: { read_from_start: 1 }, statsJson: { recordsOut: 3 } });
    expect(await of.rows('moved')).toMatchObject([{ n: 'new' }, { n: 'new' }, { n: 'new' }]);
    expect(await of.sync('moved')).toMatchObject({ notes: {}, statsJson: { recordsOut: 0 } });
  });

  it('is not compared with times that were read in another zone', async () => {
    let items: Item[] = [{ id: 1, at: '2025-03-01T12:00:00', n: 'old' }];
    api.serve('zoned', () => ({ body: items }));
    const resource = (timezone: string) => ({
      key: 'zoned',
      incremental: { ...cursor({ field: 'at', type: 'datetime', timezone }), clientFilter: true },
    });
    await using of = await account({ key: 'zoned', resources: [resource('America/New_York')] });
    await of.sync('zoned');
    await of.upgrade('2.0.0', [resource('UTC')]);
    items = [{ id: 1, at: '2025-03-01T14:00:00', n: 'new' }];
    await of.sync('zoned');
    expect(await of.rows('zoned')).toMatchObject([{ n: 'new' }]);
  });

  it('of a resource that was removed does not count when it comes back with another cursor', async () => {
    let field = 'modified';
    const items: Item[] = [1, 2].map((id) => ({ id, modified: day(200 + id), stamp: day(id) }));
    serveBy(
      'returned',
      () => items,
      () => field,
    );
    api.serve('others', () => ({ body: [] }));
    const resource = (name: string) => ({
      key: 'returned',
      request: { path: '/returned', ...since },
      incremental: cursor({ field: name, type: 'datetime' }),
    });
    await using of = await account({ key: 'returned', resources: [resource('modified'), { key: 'others' }] });
    await of.sync('returned');
    await of.upgrade('1.1.0', [{ key: 'others' }]);
    items.push({ id: 3, modified: day(100), stamp: day(3) });
    field = 'stamp';
    const { plan } = await of.upgrade('1.2.0', [resource('stamp'), { key: 'others' }]);
    expect(plan.resources).toMatchObject([{ resourceKey: 'returned', class: 'resets', resets: 'watermark' }, {}]);
    await of.sync('returned');
    expect(await of.live('returned')).toEqual(['1', '2', '3']);
  });

  it('does not count for the records that another param selects: they are read from the start', async () => {
    const items = [
      { id: 1, area: 'eu', at: day(100) },
      { id: 11, area: 'us', at: day(1) },
      { id: 12, area: 'us', at: day(2) },
    ];
    api.serve('areas', (query) => ({
      body: items.filter(({ area, at }) => query.getAll('area').includes(area) && at >= (query.get('since') ?? '')),
    }));
    const resource = {
      key: 'areas',
      request: { path: '/areas', query: { area: '{{ params.area }}', since: '{{ window.from }}' } },
      incremental: cursor({ field: 'at', type: 'datetime' }),
    };
    await using of = await account({ key: 'areas', resources: [resource], params: { area: ['eu'] } });
    await of.sync('areas');
    await of.ask('PATCH', '', { params: { area: ['us'] } });
    expect(await of.sync('areas')).toMatchObject({ status: 'succeeded', notes: { read_from_start: 1 } });
    expect(await of.live('areas')).toEqual(['1', '11', '12']);
    // There and back again between two runs, nothing differs.
    await of.ask('PATCH', '', { params: { area: ['eu'] } });
    await of.ask('PATCH', '', { params: { area: ['us'] } });
    expect(await of.sync('areas')).toMatchObject({ notes: {}, watermarkBefore: day(2) });
  });

  it.each(['baseUrl', 'headers'])(
    'does not count for the records that another param in http.%s selects, although an old ETag still holds',
    async (place) => {
      const key = `sites_${place.toLowerCase()}`;
      const rows: Readonly<Record<string, readonly Item[]>> = {
        eu: [{ id: 1, at: day(100) }],
        us: [1, 2].map((no) => ({ id: 10 + no, at: day(no) })),
      };
      const reply = (site: string, { headers }: UpstreamRequest) =>
        headers['if-none-match'] === '"1"'
          ? { status: 304, headers: { etag: '"1"' } }
          : { body: rows[site], headers: { etag: '"1"' } };
      api.serve(key, (_query, request) => reply(String(request.headers['x-site']), request));
      for (const site of ['eu', 'us']) api.serve(site, (_query, request) => reply(site, request));
      const resource = {
        key,
        request: { path: `/${key}`, cache: { mode: 'conditional' } },
        incremental: { ...cursor({ field: 'at', type: 'datetime' }), clientFilter: true },
      };
      const site = '{{ params.site[0] }}';
      const http =
        place === 'headers' ? { headers: { 'x-site': site } } : { baseUrl: `${shared().upstream.url}/${site}` };
      const params = { site: ['eu'] };
      await using of = await account({ key: key.replace('_', '-'), resources: [resource], params, http });
      await of.sync(key);
      expect((await of.sync(key)).statsJson).toMatchObject({ recordsIn: 0 });
      await of.ask('PATCH', '', { params: { site: ['us'] } });
      expect(await of.sync(key)).toMatchObject({ status: 'succeeded', notes: { read_from_start: 1 } });
      expect(await of.live(key)).toEqual(['1', '11', '12']);
    },
  );

  it('is planned by a dry run, and a change after which rows may be deleted needs consent once there are any', async () => {
    api.serve('scopes', (query) => ({ body: [{ id: query.get('area') ?? '' }] }));
    const resource = {
      key: 'scopes',
      request: { path: '/scopes', query: { area: '{{ params.area }}' } },
      deletes: { mode: 'full_scan' },
    };
    await using of = await account({ key: 'scopes', resources: [resource], params: { area: ['eu'] } });
    await of.ask('PATCH', '', { params: { area: ['de'] } });
    await of.sync('scopes');
    const change = { params: { area: ['us'] } };
    const { applied, plan } = await of.ask('PATCH', '', { ...change, dryRun: true });
    expect({ applied, resources: plan.resources }).toMatchObject({ applied: false, resources: [{ mayDelete: true }] });
    await expect(of.ask('PATCH', '', change)).rejects.toThrow(/scopes.*may delete rows.*allowDeletes/);
    expect(await of.sync('scopes')).toMatchObject({ statsJson: { recordsOut: 0 } });
    expect(await of.ask('PATCH', '', { ...change, allowDeletes: true })).toMatchObject({ applied: true });
    expect(await of.sync('scopes')).toMatchObject({ statsJson: { recordsOut: 1, deleted: 1 } });
    expect(await of.live('scopes')).toEqual(['us']);
  });

  it('takes no version for an older one that another area hands out with a lower cursor value', async () => {
    const items = [
      { id: 1, area: 'eu', at: day(100), n: 'of eu' },
      { id: 1, area: 'us', at: day(1), n: 'of us' },
    ];
    api.serve('shared', (query) => ({
      body: items.filter(({ area, at }) => area === query.get('area') && at >= (query.get('since') ?? '')),
    }));
    const resource = {
      key: 'shared',
      request: { path: '/shared', query: { area: '{{ params.area }}', since: '{{ window.from }}' } },
      incremental: cursor({ field: 'at', type: 'datetime' }),
    };
    await using of = await account({ key: 'shared', resources: [resource], params: { area: ['eu'] } });
    await of.sync('shared');
    await of.ask('PATCH', '', { params: { area: ['us'] } });
    expect(await of.sync('shared')).toMatchObject({ notes: { read_from_start: 1 }, statsJson: { recordsOut: 1 } });
    expect(await of.rows('shared')).toMatchObject([{ n: 'of us' }]);
  });
});

describe('what is delivered for a record', () => {
  it('follows a param that shapes it: a full read delivers every record in its new form, once', async () => {
    api.serve('prices', () => ({ body: [{ id: 1 }, { id: 2 }] }));
    const resource = { key: 'prices', transform: "{ 'id': id, 'currency': $params.currency[0] }" };
    await using of = await account({ key: 'prices', resources: [resource], params: { currency: ['EUR'] } });
    await of.sync('prices');
    await of.ask('PATCH', '', { params: { currency: ['USD'] } });
    expect(await of.sync('prices')).toMatchObject({ statsJson: { recordsOut: 2 } });
    expect(await of.rows('prices')).toMatchObject([{ currency: 'USD' }, { currency: 'USD' }]);
    expect(await of.sync('prices')).toMatchObject({ statsJson: { recordsOut: 0 } });
  });

  it.each([
    ['is ignored as a change', { ignore: ['state'] }],
    ['is not the version field', { mode: 'field', field: 'v' }],
  ])('decides the requests below it, also where the field that they send %s', async (_what, changeDetection) => {
    const name = `above_${Object.keys(changeDetection).length}`;
    let state = 'open';
    const asked: (string | null)[] = [];
    api.serve(name, () => ({ body: [{ id: 1, v: 1, state }] }));
    api.serve(`${name}_below`, (query) => {
      asked.push(query.get('state'));
      return { body: [] };
    });
    const below = {
      key: `${name}_below`,
      forEach: [{ as: 'p', resource: name, from: 'store' }],
      request: { path: `/${name}_below`, query: { state: '{{ each.p.state }}' } },
    };
    await using of = await account({ key: name.replace('_', '-'), resources: [{ key: name, changeDetection }, below] });
    await of.sync(name);
    await of.sync(`${name}_below`);
    state = 'closed';
    await of.sync(name);
    await of.sync(`${name}_below`);
    expect(asked).toEqual(['open', 'closed']);
  });

  it.each([
    ['read in full', 'map_full', false],
    ['read from a cursor on, by the backfill that the plan recommends', 'map_cursor', true],
  ])('follows a table of its spec that an upgrade corrects: %s', async (_what, key, hasCursor) => {
    const rows = [1, 2].map((id) => ({ id, at: day(id), country: 'de' }));
    serveBy(
      key,
      () => rows,
      () => 'at',
    );
    const parts = { request: { path: `/${key}`, ...since }, incremental: cursor({ field: 'at', type: 'datetime' }) };
    const resource = {
      key,
      ...(hasCursor && parts),
      transform: "{ 'id': id, 'country': $lookup($lookups.countries, country) }",
    };
    const lookups = (de: string) => ({ lookups: [{ kind: 'static', assignTo: 'countries', table: { de } }] });
    await using of = await account({ key: key.replace('_', '-'), resources: [resource], spec: lookups('Germny') });
    await of.sync(key);
    const { plan } = await of.upgrade('1.1.0', [resource], lookups('Germany'));
    const redelivers = hasCursor ? 'fetched' : 'everything';
    expect(plan.resources).toMatchObject([{ resets: 'nothing', redelivers, backfillRecommended: hasCursor }]);
    await of.sync(key);
    if (hasCursor) await of.backfill(key);
    expect(await of.rows(key)).toMatchObject([{ country: 'Germany' }, { country: 'Germany' }]);
    expect(await of.sync(key)).toMatchObject({ status: 'succeeded', notes: {}, statsJson: { recordsOut: 0 } });
  });

  it('follows a table whose change counts, although the API says that the list has not changed', async () => {
    let table = [{ id: 'de', name: 'Germny' }];
    api.serve('countries', () => ({ body: table }));
    api.serve('lived', (_query, { headers }) =>
      headers['if-none-match'] === '"1"'
        ? { status: 304 }
        : { body: [{ id: 1, country: 'de' }], headers: { etag: '"1"' } },
    );
    const lookup = {
      kind: 'request',
      assignTo: 'countries',
      request: { path: '/countries' },
      keyBy: 'id',
      value: 'name',
    };
    const resource = {
      key: 'lived',
      request: { path: '/lived', cache: { mode: 'conditional' } },
      changeDetection: { lookups: ['countries'] },
      transform: "{ 'id': id, 'country': $lookup($lookups.countries, country) }",
    };
    await using of = await account({ key: 'lived', resources: [resource], spec: { lookups: [lookup] } });
    await of.sync('lived');
    expect(await of.sync('lived')).toMatchObject({ statsJson: { recordsIn: 0 } });
    table = [{ id: 'de', name: 'Germany' }];
    await of.sync('lived');
    expect(await of.rows('lived')).toMatchObject([{ country: 'Germany' }]);
  });

  it.each([
    ['a filter', { filter: '$exists($lookup($lookups.projects, project))' }, {}],
    ['a request', {}, { projects: '{{ $join($sort($keys($lookups.projects)), ",") }}' }],
  ])(
    'follows a table from the API that %s reads, although the watermark is above the records',
    async (by, parts, query) => {
      const key = `tasks_${by.slice(2)}`;
      let projects = [{ id: 'a' }];
      const tasks = [
        { id: 1, project: 'b', at: day(1) },
        { id: 2, project: 'a', at: day(2) },
      ];
      api.serve(`${key}-projects`, () => ({ body: projects }));
      api.serve(key, (asked) => ({
        body: tasks.filter(
          ({ at, project }) =>
            at >= (asked.get('since') ?? '') && (asked.get('projects') ?? project).split(',').includes(project),
        ),
      }));
      const lookup = { kind: 'request', assignTo: 'projects', request: { path: `/${key}-projects` }, keyBy: 'id' };
      const resource = {
        ...{ key, request: { path: `/${key}`, query: { ...since.query, ...query } }, ...parts },
        incremental: cursor({ field: 'at', type: 'datetime' }),
      };
      await using of = await account({
        key: key.replace('_', '-'),
        resources: [resource],
        spec: { lookups: [{ ...lookup, value: 'id' }] },
      });
      await of.sync(key);
      expect(await of.sync(key)).toMatchObject({ statsJson: { recordsIn: 1, recordsOut: 0 } });
      projects = [{ id: 'b' }, { id: 'a' }];
      expect(await of.sync(key)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
      expect(await of.live(key)).toEqual(['1', '2']);
      projects = [{ id: 'a' }, { id: 'b' }];
      expect(await of.sync(key)).toMatchObject({ statsJson: { recordsIn: 1, recordsOut: 0 } });
    },
  );
});
