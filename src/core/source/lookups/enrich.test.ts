import { afterAll, describe, expect, it } from 'vitest';
import { createTestEvaluator } from '../../expressions/evaluator-fixture.ts';
import type { HttpClient } from '../../model/http.ts';
import { type ApiReply, type ApiRequest, sourceOf, startApi } from '../source-fixture.ts';
import { createEnrich } from './enrich.ts';
import { candidate, enricherWith, parsed, pathsOf, plan, plans } from './enrich-fixture.ts';
import { memoryStore } from './lookup-store-fixture.ts';

const evaluator = createTestEvaluator({ size: 2 });
afterAll(() => evaluator[Symbol.asyncDispose]());
const enricher = enricherWith(evaluator);

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
    let inProgress = 0;
    const meet = (client: HttpClient): HttpClient => ({
      ...client,
      async send(request, options) {
        inProgress += 1;
        if (inProgress === 4) all.resolve();
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
    let inProgress = 0;
    let most = 0;
    const count = (client: HttpClient): HttpClient => ({
      ...client,
      async send(request, options) {
        inProgress += 1;
        most = Math.max(most, inProgress);
        const response = await client.send(request, options);
        inProgress -= 1;
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

  it('asks for up to its size at once and takes the items by their keys, whatever type the API gives them', async () => {
    await using api = await startApi(batch);
    await using run = enricher(api, { steps: [names] });
    const found = await run.lookups([{ id: 1 }, { id: 'gone' }, { id: 2 }, { id: 1 }]);
    expect(found).toEqual([{ name: 'N1' }, { name: null }, { name: 'N2' }, { name: 'N1' }]);
    const asked = api.requests.map(({ body }) => JSON.parse(body).inputs);
    expect(asked).toEqual([[{ id: 1 }, { id: 'gone' }], [{ id: 2 }], [{ id: 'gone' }]]);
  });

  it('is asked again for the keys that a response leaves out, as long as it has some of them', async () => {
    const all = { ...names, batch: { ...names.batch, size: 10 } };
    const capped = (request: ApiRequest): ApiReply => {
      const { inputs } = JSON.parse(request.body) as { readonly inputs: readonly { readonly id: unknown }[] };
      return batch({ ...request, body: JSON.stringify({ inputs: inputs.slice(0, 2) }) });
    };
    await using api = await startApi(capped);
    await using run = enricher(api, { steps: [all] });
    const found = await run.lookups([1, 2, 3, 4, 5].map((id) => ({ id })));
    expect(found.map((lookups) => lookups?.['name'])).toEqual(['N1', 'N2', 'N3', 'N4', 'N5']);
    expect(api.requests).toHaveLength(3);
  });

  it('fails where the response has no results at all, which is not the same as none', async () => {
    await using api = await startApi(() => ({ body: { error: 'busy' } }));
    await using run = enricher(api, { steps: [{ ...names, onError: 'quarantine' }] });
    const [record] = await run.candidates([{ id: 1 }]);
    expect(record?.issues).toMatchObject([{ message: expect.stringContaining('batch.results selects nothing') }]);
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

describe('a step that fails and takes null', () => {
  it('leaves the record degraded; one that finds nothing does not', async () => {
    await using api = await startApi(plans);
    await using run = enricher(api, { steps: [{ ...plan, onError: 'null' }] });
    const records = ['p1', 'gone1', 'broken1'].map((name) => ({ plan: name }));
    const enriched = await run.candidates(records);
    expect(enriched.map(({ isDegraded }) => isDegraded)).toEqual([false, false, true]);
    expect(enriched.map(({ lookups }) => lookups?.['plan'] === null)).toEqual([false, true, true]);
  });

  it('is one whose response says that it failed', async () => {
    await using api = await startApi(() => ({ body: { error: 'busy' } }));
    const step = { ...plan, onError: 'null', successWhen: '$not($exists(error))' };
    await using run = enricher(api, { steps: [step] });
    expect(await run.candidates([{ plan: 'p1' }])).toMatchObject([{ isDegraded: true, lookups: { plan: null } }]);
  });
});
