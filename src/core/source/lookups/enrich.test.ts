import * as v from 'valibot';
import { afterAll, describe, expect, it } from 'vitest';
import { AppError } from '../../errors.ts';
import { createTestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { parseAllowList } from '../../http/addresses.ts';
import { createHttpClient, ThrottledError } from '../../http/client.ts';
import { createEgressGuard } from '../../http/egress.ts';
import type { LoggedCall } from '../../http/logged-call.ts';
import type { Candidate } from '../../model/candidate.ts';
import { type HttpClient } from '../../model/http.ts';
import { Enrichment } from '../../spec/schema/lookup-schema.ts';
import type { Source } from '../source.ts';
import { type Api, type ApiReply, type ApiRequest, sourceOf, startApi } from '../source-fixture.ts';
import { createEnrich } from './enrich.ts';
import { type MemoryStore, memoryStore } from './lookup-store-fixture.ts';

const evaluator = createTestEvaluator({ size: 2 });
afterAll(() => evaluator[Symbol.asyncDispose]());

type Json = Readonly<Record<string, unknown>>;

interface Case {
  readonly steps: readonly Json[];
  readonly store?: MemoryStore;
  readonly overrides?: Partial<Source>;
  readonly http?: Json;
  readonly wrap?: (client: HttpClient) => HttpClient;
}

/** Enriches pages over the real client; what it logged is in `calls`. */
function enricher(api: Api, { steps, store = memoryStore(), overrides = {}, http = {}, wrap = (c) => c }: Case) {
  const source = sourceOf({ api, evaluator, resource: {}, http }, overrides);
  const calls: LoggedCall[] = [];
  const client = createHttpClient({
    egress: createEgressGuard({ allow: parseAllowList(new URL(api.origin).host), deny: [], allowHttp: false }),
    takeToken: async () => 0,
    logCall: (call) => void calls.push(call),
    secrets: [],
    retry: { maxAttempts: 2, baseMs: 1, maxMs: 1, maxWaitSeconds: 3600 },
    redirects: 'none',
    sleep: async () => {},
  });
  const enrich = createEnrich({ ...source, client: wrap(client) }, parsed(steps), {
    store,
    signal: new AbortController().signal,
  });
  return {
    calls,
    candidates: async (records: readonly unknown[], each: Json = {}) =>
      (await enrich?.(records.map(candidate), { each })) ?? [],
    async lookups(records: readonly unknown[], each: Json = {}) {
      return (await this.candidates(records, each)).map(({ lookups }) => lookups);
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

const parsed = (steps: readonly Json[]) => v.parse(v.array(Enrichment), steps);

const candidate = (raw: unknown, n: number): Candidate => ({
  raw,
  externalId: String(n),
  hash: `h${n}`,
  cursor: null,
  issues: null,
  data: null,
  lookups: null,
  isPlain: true,
  quarantine: false,
  isDeleted: false,
});

const plan = { assignTo: 'plan', key: 'record.plan', request: { path: '/plans/{{ key }}' } };

/** Plans by the last part of the path: `p…` exist, `isDeleted…` do not, `broken…` are a failure of the server. */
function plans({ url }: ApiRequest): ApiReply {
  const id = url.pathname.split('/').at(-1) ?? '';
  if (id.startsWith('gone')) return { status: 404, body: { error: 'no such plan' } };
  if (id.startsWith('broken')) return { status: 500, body: {} };
  return { body: { id, name: `Plan ${id}`, price_id: `price-${id}` } };
}

const pathsOf = (api: Api) => api.requests.map(({ url }) => url.pathname + url.search);
const codeOf = (error: unknown) => (error instanceof AppError ? error.code : String(error));

describe('a step', () => {
  it('asks once per key and page, and nothing for records without a key', async () => {
    await using api = await startApi(plans);
    await using run = enricher(api, { steps: [{ ...plan, select: 'name' }] });
    const found = await run.lookups([{ plan: 'p1' }, { plan: 'p2' }, { plan: 'p1' }, { plan: null }, {}]);
    expect(found).toEqual([{ plan: 'Plan p1' }, { plan: 'Plan p2' }, { plan: 'Plan p1' }, {}, {}]);
    expect(pathsOf(api).toSorted()).toEqual(['/plans/p1', '/plans/p2']);
  });

  it('asks nothing where `when` is false, and does not look at the key there', async () => {
    await using api = await startApi(plans);
    const step = { ...plan, when: 'record.paid and params.on', key: '$lowercase(record.plan) & each.suffix' };
    await using run = enricher(api, { steps: [step], overrides: { params: { on: true } } });
    const records = [{ paid: true, plan: 'P' }, { paid: false, plan: null }, { plan: 7 }];
    const found = await run.lookups(records, { suffix: '-eu' });
    expect(found).toEqual([{ plan: expect.objectContaining({ id: 'p-eu' }) }, {}, {}]);
  });

  it('leaves records alone that are invalid or deleted', async () => {
    await using api = await startApi(plans);
    const source = sourceOf({ api, evaluator, resource: {} });
    const options = { store: memoryStore(), signal: new AbortController().signal };
    const enrich = createEnrich(source, parsed([plan]), options);
    const issues = [{ path: '', message: 'is bad', keyword: 'record' }];
    const candidates = [
      { ...candidate({ plan: 'p1' }, 1), issues },
      { ...candidate({ plan: 'p2' }, 2), isDeleted: true },
    ];
    expect(await enrich?.(candidates, { each: {} })).toEqual(candidates);
    expect(api.requests).toEqual([]);
    expect(createEnrich(source, [], options)).toBeNull();
  });

  it('without a key asks for each record, which its request sees', async () => {
    await using api = await startApi(plans);
    const step = { assignTo: 'plan', request: { path: '/plans/{{ record.plan }}' }, select: 'id' };
    await using run = enricher(api, { steps: [step] });
    expect(await run.lookups([{ plan: 'p1' }, { plan: 'p2' }])).toEqual([{ plan: 'p1' }, { plan: 'p2' }]);
    expect(await run.lookups([{ plan: 'p1' }, { plan: 'p2' }])).toEqual([{ plan: 'p1' }, { plan: 'p2' }]);
    expect(api.requests).toHaveLength(4);
  });

  it('without a key asks for each of two records with one id, where changes are not detected', async () => {
    await using api = await startApi(plans);
    const options = { store: memoryStore(), signal: new AbortController().signal };
    const step = { assignTo: 'plan', request: { path: '/plans/{{ record.plan }}' }, select: 'id' };
    const enrich = createEnrich(sourceOf({ api, evaluator, resource: {} }), parsed([step]), options);
    const versions = ['p1', 'p2'].map((id) => ({ ...candidate({ plan: id }, 1), hash: null }));
    expect((await enrich?.(versions, { each: {} }))?.map(({ lookups }) => lookups)).toEqual([
      { plan: 'p1' },
      { plan: 'p2' },
    ]);
  });

  it('whose key fails on a record, or is no key, makes that record invalid', async () => {
    await using api = await startApi(plans);
    await using run = enricher(api, {
      steps: [{ ...plan, key: '$type(record.plan) = "array" ? record : $lowercase(record.plan)' }],
    });
    const [bad, odd, good] = await run.candidates([{ plan: null }, { plan: [1] }, { plan: 'P1' }]);
    expect(bad).toMatchObject({ issues: [{ path: 'plan', keyword: 'enrich' }], quarantine: false });
    expect(odd).toMatchObject({ issues: [{ message: expect.stringContaining('not a text, number or boolean') }] });
    expect(good).toMatchObject({ issues: null, lookups: { plan: { id: 'p1' } } });
  });

  it('sees the tables and what earlier steps found, in whatever order they are written', async () => {
    await using api = await startApi(({ url }) =>
      url.pathname.startsWith('/prices') ? { body: { eur: url.search } } : plans({ url } as ApiRequest),
    );
    const price = {
      assignTo: 'price',
      key: '$lookups.plan.price_id',
      request: { path: '/prices/{{ key }}', query: { r: '{{ lookups.regions.eu }}', n: '{{ $lookups.plan.name }}' } },
      select: 'eur & $regions.eu',
    };
    await using run = enricher(api, { steps: [price, plan], overrides: { lookups: { regions: { eu: 'EU' } } } });
    expect(await run.lookups([{ plan: 'p1' }])).toMatchObject([{ price: '?r=EU&n=Plan+p1EU', plan: { id: 'p1' } }]);
    expect(pathsOf(api)).toEqual(['/plans/p1', '/prices/price-p1?r=EU&n=Plan+p1']);
  });

  it('runs beside steps that do not depend on it, and keys of one step at the same time', async () => {
    await using api = await startApi(plans);
    const all = Promise.withResolvers<void>();
    let underWay = 0;
    const meet = (client: HttpClient): HttpClient => ({
      ...client,
      async send(request, options) {
        underWay += 1;
        if (underWay === 4) all.resolve();
        await all.promise;
        return client.send(request, options);
      },
    });
    const steps = [plan, { ...plan, assignTo: 'other', request: { path: '/others/{{ key }}' } }];
    await using run = enricher(api, { steps, wrap: meet });
    expect(await run.lookups([{ plan: 'p1' }, { plan: 'p2' }])).toMatchObject([
      { plan: { id: 'p1' }, other: { id: 'p1' } },
      { plan: { id: 'p2' }, other: { id: 'p2' } },
    ]);
  });

  it('sends at most maxConcurrent requests at once', async () => {
    await using api = await startApi(plans);
    let underWay = 0;
    let most = 0;
    const count = (client: HttpClient): HttpClient => ({
      ...client,
      async send(request, options) {
        underWay += 1;
        most = Math.max(most, underWay);
        const response = await client.send(request, options);
        underWay -= 1;
        return response;
      },
    });
    await using run = enricher(api, { steps: [plan], wrap: count, http: { rateLimit: { maxConcurrent: 2 } } });
    await run.lookups(Array.from({ length: 10 }, (_, n) => ({ plan: `p${n}` })));
    expect(most).toBe(2);
  });
});

describe('a batch', () => {
  const names = {
    assignTo: 'name',
    key: 'record.id',
    request: { method: 'POST', path: '/batch', body: { json: { inputs: "{{ batch.keys.{ 'id': $ } }}" } } },
    batch: { size: 2, results: 'results', keyBy: 'from.id' },
    select: 'to[0].name',
  };
  const batch = ({ body }: ApiRequest): ApiReply => {
    const { inputs } = JSON.parse(body) as {
      readonly inputs: { readonly id: unknown } | readonly { readonly id: unknown }[];
    };
    const known = [inputs].flat().filter(({ id }) => !String(id).startsWith('gone'));
    return {
      body: { results: known.map(({ id }) => ({ from: { id: String(id) }, to: [{ name: `N${String(id)}` }] })) },
    };
  };

  it('asks for up to its size at once and takes the answers by their keys, whatever type the API gives them', async () => {
    await using api = await startApi(batch);
    await using run = enricher(api, { steps: [names] });
    const found = await run.lookups([{ id: 1 }, { id: 'gone' }, { id: 2 }, { id: 1 }]);
    expect(found).toEqual([{ name: 'N1' }, { name: null }, { name: 'N2' }, { name: 'N1' }]);
    expect(api.requests.map(({ body }) => JSON.parse(body).inputs)).toEqual([[{ id: 1 }, { id: 'gone' }], [{ id: 2 }]]);
  });

  it('logs one saved request per page, however many keys were kept', async () => {
    await using api = await startApi(batch);
    await using run = enricher(api, { steps: [names] });
    await run.lookups([{ id: 1 }, { id: 2 }, { id: 3 }]);
    await run.lookups([{ id: 1 }, { id: 2 }, { id: 3 }]);
    const saved = run.calls.filter(({ cacheHit }) => cacheHit);
    expect(saved).toMatchObject([{ method: 'POST', url: `${api.origin}/batch`, statusCode: null, durationMs: 0 }]);
    expect(api.requests).toHaveLength(2);
  });

  it.each(['results', 'keyBy'])('fails like a failed request when its %s fails on the response', async (part) => {
    await using api = await startApi(batch);
    const broken = { ...names.batch, [part]: '$number("x")' };
    await using run = enricher(api, { steps: [{ ...names, batch: broken, onError: 'quarantine' }] });
    const [record] = await run.candidates([{ id: 1 }]);
    expect(record).toMatchObject({
      quarantine: true,
      issues: [{ message: expect.stringContaining(`batch.${part} fails`) }],
    });
  });
});

describe('what is not there, and what fails', () => {
  it.each([
    ['onMissing', 'gone'],
    ['onError', 'broken'],
  ])('is null, costs the record or fails the run, as %s says', async (option, id) => {
    await using api = await startApi(plans);
    const records = [{ plan: id }, { plan: 'p1' }];
    await using nulls = enricher(api, { steps: [{ ...plan, [option]: 'null' }] });
    expect(await nulls.lookups(records)).toMatchObject([{ plan: null }, { plan: { id: 'p1' } }]);
    await using aside = enricher(api, { steps: [{ ...plan, [option]: 'quarantine' }] });
    expect(await aside.candidates(records)).toMatchObject([
      { quarantine: true, issues: [{ path: 'plan', keyword: 'enrich' }] },
      { quarantine: false, issues: null },
    ]);
    await using fails = enricher(api, { steps: [{ ...plan, [option]: 'fail' }] });
    const failed = fails.candidates(records);
    expect(await failed.catch(codeOf)).toBe(option === 'onMissing' ? 'record_invalid' : 'source_unavailable');
    await expect(failed).rejects.toThrow(`Set its ${option} to`);
    await expect(failed).rejects.not.toThrow(id);
  });

  it('by default: null for what is missing, a failed run for an error', async () => {
    await using api = await startApi(plans);
    await using run = enricher(api, { steps: [plan] });
    expect(await run.lookups([{ plan: 'gone' }])).toEqual([{ plan: null }]);
    expect(await run.candidates([{ plan: 'broken' }]).catch(codeOf)).toBe('source_unavailable');
  });

  it('costs a record also the steps that depend on it, which ask nothing', async () => {
    await using api = await startApi(plans);
    const price = { assignTo: 'price', key: '"p" & $lookups.plan.id', request: { path: '/prices/{{ key }}' } };
    const steps = [
      { ...plan, onMissing: 'quarantine' },
      price,
      { ...price, assignTo: 'far', dependsOn: ['price'], key: '"far"' },
    ];
    await using run = enricher(api, { steps });
    const [record] = await run.candidates([{ plan: 'gone' }]);
    expect(record?.issues).toEqual([{ path: 'plan', message: expect.any(String), keyword: 'enrich' }]);
    expect(pathsOf(api)).toEqual(['/plans/gone']);
  });

  it.each([
    ['a select that fails on it', { select: '$number(name)' }, 'select fails'],
    ['a value of more than 1 MB', { request: { path: '/big' } }, 'is longer than 1 MB'],
    ['a key that no path takes', { key: '".."' }, ''],
  ])('counts an answer with %s as failed', async (_what, change, message) => {
    await using api = await startApi((request) =>
      request.url.pathname === '/big' ? { body: { text: 'x'.repeat(1_000_001) } } : plans(request),
    );
    await using run = enricher(api, { steps: [{ ...plan, onError: 'quarantine', ...change }] });
    const [record] = await run.candidates([{ plan: 'p1' }]);
    expect(record).toMatchObject({ quarantine: true, issues: [{ message: expect.stringContaining(message) }] });
  });

  it('is not a value with text that no database holds, nor one that is nested too deep', async () => {
    const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`;
    await using api = await startApi(() => ({ body: `{"name":"A","bio":"\\u0000","deep":${deep}}` }));
    await using run = enricher(api, { steps: [plan] });
    const first = await run.lookups([{ plan: 'p1' }]);
    expect(first).toMatchObject([{ plan: { name: 'A', bio: String.raw`\u0000` } }]);
    expect(await run.lookups([{ plan: 'p1' }])).toEqual(first);
  });

  it.each([
    ['refused credentials', 'auth_failed', (): ApiReply => ({ status: 401, body: {} })],
    ['a long wait', 'ThrottledError', (): ApiReply => ({ status: 429, headers: { 'retry-after': '60' } })],
  ])('leaves %s to the run', async (_what, code, response) => {
    await using api = await startApi(response);
    await using run = enricher(api, { steps: [{ ...plan, onError: 'null', onMissing: 'null' }] });
    const failure = await run.candidates([{ plan: 'p1' }]).catch((error: unknown) => error);
    expect(failure instanceof AppError ? failure.code : failure instanceof Error && failure.name).toBe(code);
  });

  it('goes by the error rules of http, of which one may ask to try a 404 again', async () => {
    let asked = 0;
    await using api = await startApi(() => {
      asked += 1;
      return asked === 1 ? { status: 404 } : { body: { id: 'late' } };
    });
    const errors = [{ when: { status: [404] }, action: 'retry' }];
    await using run = enricher(api, { steps: [plan], http: { errors } });
    expect(await run.lookups([{ plan: 'p1' }])).toMatchObject([{ plan: { id: 'late' } }]);
  });
});

describe('the cache', () => {
  const shared = { ...plan, cache: { scope: 'connection', ttlSeconds: 900, negativeTtlSeconds: 60 } };

  it('serves the later pages of the run, and logs each request it saves', async () => {
    await using api = await startApi(plans);
    const store = memoryStore();
    await using run = enricher(api, { steps: [plan], store });
    const first = await run.lookups([{ plan: 'p1' }, { plan: 'gone' }]);
    expect(await run.lookups([{ plan: 'p1' }, { plan: 'gone' }])).toEqual(first);
    expect(api.requests).toHaveLength(2);
    expect(run.calls.filter(({ cacheHit }) => cacheHit).map(({ url }) => url)).toEqual([
      `${api.origin}/plans/p1`,
      `${api.origin}/plans/gone`,
    ]);
    await using next = enricher(api, { steps: [plan], store: store.nextRun() });
    await next.lookups([{ plan: 'p1' }]);
    expect(api.requests).toHaveLength(3);
  });

  it('lets two pages that need the same key at the same time share one request', async () => {
    await using api = await startApi(plans);
    const asked = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const hold = (client: HttpClient): HttpClient => ({
      ...client,
      async send(request, options) {
        asked.resolve();
        await go.promise;
        return client.send(request, options);
      },
    });
    await using run = enricher(api, { steps: [plan], wrap: hold });
    const first = run.lookups([{ plan: 'p1' }]);
    await asked.promise;
    const second = run.lookups([{ plan: 'p2' }, { plan: 'p1' }]);
    go.resolve();
    expect(await first).toMatchObject([{ plan: { id: 'p1' } }]);
    expect(await second).toMatchObject([{ plan: { id: 'p2' } }, { plan: { id: 'p1' } }]);
    expect(pathsOf(api).toSorted()).toEqual(['/plans/p1', '/plans/p2']);
    expect(run.calls.filter(({ cacheHit }) => cacheHit)).toHaveLength(1);
  });

  it('remembers what the API refuses, but not that it is in trouble', async () => {
    await using api = await startApi(({ url }) => ({ status: url.pathname.endsWith('bad') ? 400 : 500, body: {} }));
    await using run = enricher(api, { steps: [{ ...plan, onError: 'null' }] });
    const page = [{ plan: 'bad' }, { plan: 'down' }];
    expect(await run.lookups(page)).toEqual([{ plan: null }, { plan: null }]);
    expect(await run.lookups(page)).toEqual([{ plan: null }, { plan: null }]);
    const attempts = 2;
    expect(pathsOf(api).filter((path) => path === '/plans/bad')).toHaveLength(1);
    expect(pathsOf(api).filter((path) => path === '/plans/down')).toHaveLength(2 * attempts);
  });

  it('of scope connection serves the next run; what was missing is asked for again sooner', async () => {
    await using api = await startApi(plans);
    const store = memoryStore();
    const records = [{ plan: 'p1' }, { plan: 'gone' }];
    await using first = enricher(api, { steps: [shared], store });
    await first.lookups(records);
    store.pass(59);
    await using second = enricher(api, { steps: [shared], store: store.nextRun() });
    await second.lookups(records);
    expect(api.requests).toHaveLength(2);
    store.pass(2);
    await second.lookups(records);
    expect(pathsOf(api).slice(2)).toEqual(['/plans/gone']);
    store.pass(900);
    await second.lookups(records);
    expect(pathsOf(api).slice(3).toSorted()).toEqual(['/plans/gone', '/plans/p1']);
  });

  it.each([
    ['the request', { steps: [{ ...shared, request: { path: '/v2/plans/{{ key }}' } }] }],
    ['select', { steps: [{ ...shared, select: 'name' }] }],
    ['a parameter', { steps: [shared], overrides: { params: { region: 'us' } } }],
    ['a secret', { steps: [shared], overrides: { secrets: { token: 'other' } } }],
  ])('has nothing after a change of %s', async (_what, change: Case) => {
    await using api = await startApi(plans);
    const store = memoryStore();
    await using before = enricher(api, { steps: [shared], store });
    await before.lookups([{ plan: 'p1' }]);
    await using after = enricher(api, { ...change, store: store.nextRun() });
    await after.lookups([{ plan: 'p1' }]);
    expect(api.requests).toHaveLength(2);
  });

  it('tells partitions apart where the request does', async () => {
    await using api = await startApi(plans);
    const step = { ...plan, request: { path: '/{{ each.project }}/{{ key }}' } };
    await using run = enricher(api, { steps: [step] });
    await run.lookups([{ plan: 'p1' }], { project: 'a' });
    await run.lookups([{ plan: 'p1' }], { project: 'b' });
    expect(pathsOf(api)).toEqual(['/a/p1', '/b/p1']);
  });

  it('of scope none asks for every page', async () => {
    await using api = await startApi(plans);
    const store = memoryStore();
    await using run = enricher(api, { steps: [{ ...plan, cache: { scope: 'none' } }], store });
    await run.lookups([{ plan: 'p1' }]);
    await run.lookups([{ plan: 'p1' }]);
    expect(api.requests).toHaveLength(2);
    expect(store.count('run') + store.count('connection')).toBe(0);
  });

  it.each(['none', 'run'])(
    'of scope %s keeps what was fetched before a long wait: the page goes on from there',
    async (scope) => {
      await using api = await startApi(plans);
      let left = 1;
      const throttled = (client: HttpClient): HttpClient => ({
        ...client,
        async send(request, options) {
          if (left === 0) throw new ThrottledError(60_000);
          left -= 1;
          return client.send(request, options);
        },
      });
      const steps = [{ ...plan, cache: { scope } }];
      const http = { rateLimit: { maxConcurrent: 1 } };
      await using run = enricher(api, { steps, wrap: throttled, http });
      const page = [{ plan: 'p1' }, { plan: 'p2' }];
      await expect(run.candidates(page)).rejects.toThrow(ThrottledError);
      left = 1;
      expect(await run.lookups(page)).toMatchObject([{ plan: { id: 'p1' } }, { plan: { id: 'p2' } }]);
      expect(pathsOf(api)).toEqual(['/plans/p1', '/plans/p2']);
    },
  );

  it('logs at most 100 saved requests of one page', async () => {
    await using api = await startApi(plans);
    await using run = enricher(api, { steps: [plan] });
    const page = Array.from({ length: 120 }, (_, n) => ({ plan: `p${n}` }));
    await run.lookups(page);
    await run.lookups(page);
    expect(run.calls.filter(({ cacheHit }) => cacheHit)).toHaveLength(100);
  });
});
