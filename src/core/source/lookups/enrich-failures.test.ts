import { afterAll, describe, expect, it } from 'vitest';
import { AppError } from '../../errors.ts';
import { createTestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { type ApiReply, startApi } from '../source-fixture.ts';
import { codeOf, enricherWith, pathsOf, plan, plans } from './enrich-fixture.ts';
import type { CacheScope } from './lookup-store.ts';
import { memoryStore } from './lookup-store-fixture.ts';

const evaluator = createTestEvaluator({ size: 2 });
afterAll(() => evaluator[Symbol.asyncDispose]());
const enricher = enricherWith(evaluator);

describe('the values of one page', () => {
  it('have a limit together, fetched or stored', async () => {
    const text = 'x'.repeat(999_000);
    await using api = await startApi(() => ({ body: { text } }));
    const pageOf = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, n) => ({ plan: `p${from + n}` }));
    const store = memoryStore();
    const steps = [{ ...plan, select: 'text', cache: { scope: 'connection' } }];
    await using first = enricher(api, { steps, store });
    await expect(first.lookups(pageOf(0, 70))).rejects.toThrow('find more than 64 MB for the records of one page');
    await using second = enricher(api, { steps, store: store.nextRun() });
    await second.lookups(pageOf(0, 60));
    await second.lookups(pageOf(60, 70));
    const requests = api.requests.length;
    await using third = enricher(api, { steps, store: store.nextRun() });
    const stored = third.lookups(pageOf(0, 70));
    expect(await stored.catch(codeOf)).toBe('spec_invalid');
    expect(api.requests).toHaveLength(requests);
  });

  it('are read from the store by a hundred keys at a time', async () => {
    await using api = await startApi(plans);
    const store = memoryStore();
    const counts: number[] = [];
    const counted = {
      ...store,
      read: (scope: CacheScope, keys: readonly string[]) => {
        counts.push(keys.length);
        return store.read(scope, keys);
      },
    };
    await using run = enricher(api, { steps: [plan], store: counted });
    await run.lookups(Array.from({ length: 250 }, (_, n) => ({ plan: `p${n}` })));
    expect(counts).toEqual([100, 100, 50]);
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
    await using quarantining = enricher(api, { steps: [{ ...plan, [option]: 'quarantine' }] });
    expect(await quarantining.candidates(records)).toMatchObject([
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
  ])('counts a response with %s as failed', async (_what, change, message) => {
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
