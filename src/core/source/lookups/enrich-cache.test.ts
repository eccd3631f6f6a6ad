import { afterAll, describe, expect, it } from 'vitest';
import { createTestEvaluator } from '../../expressions/evaluator-fixture.ts';
import type { HttpClient } from '../../model/http.ts';
import { ThrottledError } from '../../model/throttled.ts';
import { startApi } from '../source-fixture.ts';
import { type Case, enricherWith, pathsOf, plan, plans } from './enrich-fixture.ts';
import { memoryStore } from './lookup-store-fixture.ts';

const evaluator = createTestEvaluator({ size: 2 });
afterAll(() => evaluator[Symbol.asyncDispose]());
const enricher = enricherWith(evaluator);

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
