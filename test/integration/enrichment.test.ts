import { describe, expect, it } from 'vitest';
import { useSharedService } from '../support/service/use-shared-service.ts';
import { type Customer, connectCustomer } from '../support/sync/customer.ts';
import { oneResourceSpec } from '../support/sync/spec-documents.ts';
import { createAsked } from '../support/upstream/asked.ts';
import { createScriptedApi, type Script } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const shared = useSharedService({ reply: api.reply });
const asked = createAsked(() => shared().upstream);
const pathsAsked = (name: string) =>
  asked(name)
    .map(({ pathname, search }) => pathname + search)
    .toSorted();

type Json = Readonly<Record<string, unknown>>;

/** People by name, what each path says about the rest of the world, and a connection that syncs them. */
async function world(name: string, parts: Json, scripts: Record<string, Script> = {}) {
  const people = new Map<number, Json>();
  api.serve(name, (query) => ({
    body: [...people.values()].filter(({ at = 0 }) => Number(at) >= Number(query.get('since') ?? 0)),
  }));
  for (const [part, script] of Object.entries(scripts)) api.serve(`${name}-${part}`, script);
  const customer = await connectCustomer(shared().stack, {
    document: oneResourceSpec(name, { baseUrl: shared().upstream.url, ...parts }),
    params: {},
    secrets: {},
  });
  return {
    ...customer,
    put: (...rows: readonly (Json & { readonly id: number })[]) => rows.forEach((row) => people.set(row.id, row)),
    rows: async () => (await rowsOf(customer, name)).map(({ data }) => data),
    savedCalls: async (runId: string) =>
      (await customer.calls(runId)).filter(({ cacheHit }) => cacheHit).map(({ url }) => new URL(url).pathname),
  };
}

const rowsOf = ({ destination }: Customer, table: string) =>
  destination.query<{ data: Json }>(
    `select to_jsonb(t) - array['_connection_id', '_external_id', '_run_id', '_synced_at', '_deleted_at', '_seq'] as data
     from ${table} t order by _external_id::int`,
  );

/** Rows kept of what was looked up: by runs, and for the connection. */
async function keptOf({ connectionId }: Customer) {
  const rows = await shared()
    .stack.db.selectFrom('lookupCache')
    .select(['runId', 'value'])
    .where('connectionId', '=', connectionId)
    .execute();
  const ofRuns = rows.filter(({ runId }) => runId !== '').length;
  return { ofRuns, shared: rows.length - ofRuns };
}

const last = (url: string) => url.split('?')[0]?.split('/').at(-1) ?? '';

describe('lookups and enrichments', () => {
  const teams = ['Ada', 'Bob', 'Eve'].map((lead, n) => ({ id: n + 1, lead }));
  const open = () =>
    world(
      'joined',
      {
        lookups: [
          { assignTo: 'lands', kind: 'static', table: { de: 'Germany' } },
          {
            assignTo: 'teams',
            kind: 'request',
            request: { path: '/joined-teams' },
            records: 'data',
            pagination: { kind: 'cursor', next: 'body.next', inject: { in: 'query', name: 'page' } },
            keyBy: 'id',
            value: "{ 'lead': lead }",
            cache: { scope: 'connection', ttlSeconds: 900 },
          },
          { assignTo: 'unused', kind: 'request', request: { path: '/joined-unused' }, keyBy: 'id' },
        ],
        enrich: [
          {
            assignTo: 'price',
            dependsOn: ['plan'],
            when: '$lookups.plan != null',
            key: '$lookups.plan.price_id',
            request: { path: '/joined-prices/{{ key }}' },
            select: 'eur',
          },
          {
            assignTo: 'plan',
            key: 'record.plan',
            request: { path: '/joined-plans/{{ key }}' },
            cache: { scope: 'connection', ttlSeconds: 900, negativeTtlSeconds: 900 },
          },
          {
            assignTo: 'score',
            key: 'record.id',
            request: {
              method: 'POST',
              path: '/joined-scores',
              body: { json: { ids: "{{ batch.keys.{ 'id': $ } }}" } },
            },
            batch: { size: 2, results: 'found', keyBy: 'id' },
            select: 'score',
            cache: { scope: 'none' },
          },
        ],
        transform:
          "{ 'id': id, 'land': $lookup($lookups.lands, land), 'lead': $lookup($lookups.teams, $string(team)).lead, 'plan': $lookups.plan.name, 'price': $lookups.price, 'score': $lookups.score }",
      },
      {
        teams: (query) => {
          const page = Number(query.get('page') ?? 0);
          return { body: { data: teams.slice(page, page + 1), next: page + 1 < teams.length ? page + 1 : null } };
        },
        plans: (_query, { url }) =>
          last(url) === 'gone' ? { status: 404 } : { body: { name: last(url), price_id: `p-${last(url)}` } },
        prices: (_query, { url }) => ({ body: { eur: last(url).length } }),
        scores: (_query, { body }) => {
          const { ids }: { readonly ids: readonly { readonly id: number }[] } = JSON.parse(body);
          return {
            body: { found: ids.filter(({ id }) => id !== 2).map(({ id }) => ({ id: String(id), score: id * 10 })) },
          };
        },
      },
    );

  it('join what other paths say onto the records, asking once for each thing', async () => {
    await using of = await open();
    of.put(
      { id: 1, land: 'de', team: 3, plan: 'pro' },
      { id: 2, land: 'xx', team: 1, plan: 'gone' },
      { id: 3, land: 'de', team: 9, plan: 'pro' },
    );
    const first = await of.sync('joined');
    expect(first).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 3, recordsOut: 3 } });
    expect(await of.rows()).toEqual([
      { id: 1, land: 'Germany', lead: 'Eve', plan: 'pro', price: 5, score: 10 },
      { id: 2, land: null, lead: 'Ada', plan: null, price: null, score: null },
      { id: 3, land: 'Germany', lead: null, plan: 'pro', price: 5, score: 30 },
    ]);
    expect(pathsAsked('joined-teams')).toEqual(['/joined-teams', '/joined-teams?page=1', '/joined-teams?page=2']);
    expect(pathsAsked('joined-plans')).toEqual(['/joined-plans/gone', '/joined-plans/pro']);
    expect(pathsAsked('joined-prices')).toEqual(['/joined-prices/p-pro']);
    expect(pathsAsked('joined-scores')).toHaveLength(3);
    expect(pathsAsked('joined-unused')).toEqual([]);
    expect(await of.savedCalls(first.id)).toEqual([]);
    // The table, and what two plans are; what the run alone had is gone with it.
    expect(await keptOf(of)).toEqual({ ofRuns: 0, shared: 3 });

    const unchanged = await of.sync('joined');
    expect(unchanged).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 3, recordsOut: 0, skipped: 3 } });
    expect([...pathsAsked('joined-teams'), ...pathsAsked('joined-plans'), ...pathsAsked('joined-scores')]).toEqual([]);
    expect(await of.savedCalls(unchanged.id)).toEqual(['/joined-teams']);

    of.put({ id: 1, land: 'de', team: 1, plan: 'gone' }, { id: 3, land: 'de', team: 2, plan: 'pro' });
    const changed = await of.sync('joined');
    expect(changed).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 2, skipped: 1 } });
    expect((await of.rows()).map(({ plan, lead, price }) => [plan, lead, price])).toEqual([
      [null, 'Ada', null],
      [null, 'Ada', null],
      ['pro', 'Bob', 5],
    ]);
    expect([...pathsAsked('joined-teams'), ...pathsAsked('joined-plans')]).toEqual([]);
    expect(pathsAsked('joined-prices')).toEqual(['/joined-prices/p-pro']);
    const saved = (await of.calls(changed.id)).filter(({ cacheHit }) => cacheHit);
    expect(saved.map(({ url }) => new URL(url).pathname).toSorted()).toEqual([
      '/joined-plans/gone',
      '/joined-plans/pro',
      '/joined-teams',
    ]);
    expect(saved).toMatchObject(saved.map(() => ({ method: 'GET', statusCode: null, durationMs: 0, respHeaders: {} })));
  });
});

describe('a record whose enrichment fails', () => {
  it('is quarantined where the step says so, although onInvalid is fail, and delivered once it is mended', async () => {
    const broken = new Set(['bad']);
    const enrich = [
      { assignTo: 'plan', key: 'record.plan', request: { path: '/aside-plans/{{ key }}' }, onError: 'quarantine' },
    ];
    await using of = await world(
      'aside',
      { enrich, transform: "{ 'id': id, 'plan': $lookups.plan.name }" },
      { plans: (_query, { url }) => (broken.has(last(url)) ? { status: 500 } : { body: { name: last(url) } }) },
    );
    of.put({ id: 1, plan: 'bad' }, { id: 2, plan: 'good' });
    expect(await of.sync('aside')).toMatchObject({ status: 'partial', statsJson: { recordsOut: 1, quarantined: 1 } });
    const { call } = shared().stack.org;
    const { body } = await call('GET', `/quarantine?connectionId=${of.connectionId}`);
    expect(body).toMatchObject([{ externalId: '1', validationErrors: [{ path: 'plan', keyword: 'enrich' }] }]);

    broken.clear();
    await call('POST', `/quarantine/${body[0].id}/requeue`);
    expect(await of.sync('aside')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
    expect(await of.rows()).toEqual([
      { id: 1, plan: 'bad' },
      { id: 2, plan: 'good' },
    ]);
  });

  describe('and takes null', () => {
    const nulls = (name: string) => [
      { assignTo: 'plan', key: 'record.plan', request: { path: `/${name}-plans/{{ key }}` }, onError: 'null' },
    ];
    const transform = "{ 'id': id, 'plan': $lookups.plan.name }";

    it.each([
      ['reread', {}],
      [
        'kept',
        {
          request: { path: '/kept', query: { since: '{{ watermark }}' } },
          incremental: { kind: 'cursor', cursor: { field: 'at', type: 'integer' }, order: 'asc' },
        },
      ],
    ])('is enriched by the next run, whether that fetches it or not: %s', async (name, parts) => {
      let isAway = true;
      await using of = await world(
        name,
        { enrich: nulls(name), transform, ...parts },
        { plans: (_query, { url }) => (isAway ? { status: 500 } : { body: { name: last(url) } }) },
      );
      of.put({ id: 1, at: 1, plan: 'basic' }, { id: 2, at: 2, plan: 'pro' });
      const first = await of.sync(name);
      expect(first).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 2 }, notes: { degraded: 2 } });
      of.put({ id: 3, at: 9, plan: 'none' });
      await of.sync(name);
      isAway = false;
      of.put({ id: 3, at: 10, plan: 'team' });
      await of.sync(name);
      expect(await of.rows()).toEqual([
        { id: 1, plan: 'basic' },
        { id: 2, plan: 'pro' },
        { id: 3, plan: 'team' },
      ]);
      expect((await of.sync(name)).statsJson).toMatchObject({ recordsOut: 0 });
      const { call } = shared().stack.org;
      const { body } = await call('GET', `/quarantine?connectionId=${of.connectionId}`);
      expect(body.filter(({ resolvedAt }: { readonly resolvedAt: string | null }) => resolvedAt === null)).toEqual([]);
    });
  });

  it.each(['ttl', 'conditional'])(
    'and takes null, is enriched by the next run that finds its list in the cache: %s',
    async (mode) => {
      let isAway = true;
      const name = `cached${mode}`;
      await using of = await world(
        name,
        {
          enrich: [
            { assignTo: 'plan', key: 'record.plan', request: { path: `/${name}-plans/{{ key }}` }, onError: 'null' },
          ],
          transform: "{ 'id': id, 'plan': $lookups.plan.name }",
          request: { path: `/${name}`, cache: { mode, ...(mode === 'ttl' && { ttlSeconds: 3600 }) } },
        },
        { plans: (_query, { url }) => (isAway ? { status: 500 } : { body: { name: last(url) } }) },
      );
      const body = [{ id: 1, plan: 'basic' }];
      api.serve(name, (_query, { headers }) =>
        headers['if-none-match'] === '"1"' ? { status: 304 } : { body, headers: { etag: '"1"' } },
      );
      await of.sync(name);
      isAway = false;
      expect((await of.sync(name)).statsJson).toMatchObject({ recordsOut: 1 });
      expect(await of.rows()).toEqual([{ id: 1, plan: 'basic' }]);
      expect((await of.sync(name)).statsJson).toMatchObject({ recordsOut: 0 });
    },
  );

  it('fails the run where the step says nothing, without a value of the record in the message', async () => {
    const enrich = [{ assignTo: 'plan', key: 'record.plan', request: { path: '/failing-plans/{{ key }}' } }];
    await using of = await world('failing', { enrich }, { plans: () => ({ status: 400 }) });
    of.put({ id: 1, plan: 'plan-of-ada' });
    const run = await of.sync('failing');
    expect(run).toMatchObject({ status: 'failed', error: { code: 'source_rejected' } });
    expect(run.error?.message).toContain('the calls of the run show the response');
    expect(run.error?.message).not.toContain('plan-of-ada');
  });
});

describe('a table that changes', () => {
  it('makes records new where changeDetection names it', async () => {
    const names: Record<string, string> = { a: 'One' };
    await using of = await world(
      'tabled',
      {
        lookups: [
          { assignTo: 'names', kind: 'request', request: { path: '/tabled-names' }, keyBy: 'id', value: 'name' },
        ],
        changeDetection: { lookups: ['names'] },
        transform: "{ 'id': id, 'name': $lookup($lookups.names, key) }",
      },
      { names: () => ({ body: Object.entries(names).map(([id, name]) => ({ id, name })) }) },
    );
    of.put({ id: 1, key: 'a' });
    await of.sync('tabled');
    expect((await of.sync('tabled')).statsJson).toMatchObject({ recordsOut: 0, skipped: 1 });
    names['a'] = 'Two';
    expect((await of.sync('tabled')).statsJson).toMatchObject({ recordsOut: 1 });
    expect(await of.rows()).toEqual([{ id: 1, name: 'Two' }]);
  });
});

describe('an API that requests a long wait', () => {
  it('is left alone, and asked on from there: no page of a table and no key twice', async () => {
    const limited = new Set(['/waiting-names?page=1', '/waiting-plans/b']);
    const unlessLimited =
      (script: Script): Script =>
      (query, request) =>
        limited.delete(request.url) ? { status: 429, headers: { 'retry-after': '11' } } : script(query, request);
    await using of = await world(
      'waiting',
      {
        lookups: [
          {
            assignTo: 'names',
            kind: 'request',
            request: { path: '/waiting-names' },
            records: 'data',
            pagination: { kind: 'cursor', next: 'body.next', inject: { in: 'query', name: 'page' } },
            keyBy: 'id',
            value: 'name',
          },
        ],
        enrich: [
          {
            assignTo: 'plan',
            key: 'record.plan',
            request: { path: '/waiting-plans/{{ key }}' },
            select: 'name',
            cache: { scope: 'none' },
          },
        ],
        transform: "{ 'id': id, 'name': $lookup($lookups.names, $string(id)), 'plan': $lookups.plan }",
      },
      {
        names: unlessLimited((query) =>
          query.has('page')
            ? { body: { data: [{ id: 2, name: 'Two' }], next: null } }
            : { body: { data: [{ id: 1, name: 'One' }], next: 1 } },
        ),
        plans: unlessLimited((_query, { url }) => ({ body: { name: last(url).toUpperCase() } })),
      },
    );
    of.put({ id: 1, plan: 'a' }, { id: 2, plan: 'b' });
    expect(await of.sync('waiting')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 2 } });
    expect(await of.rows()).toEqual([
      { id: 1, name: 'One', plan: 'A' },
      { id: 2, name: 'Two', plan: 'B' },
    ]);
    expect(pathsAsked('waiting-names')).toEqual(['/waiting-names', '/waiting-names?page=1', '/waiting-names?page=1']);
    expect(pathsAsked('waiting-plans')).toEqual(['/waiting-plans/a', '/waiting-plans/b', '/waiting-plans/b']);
    expect(await keptOf(of)).toEqual({ ofRuns: 0, shared: 0 });
  });
});
