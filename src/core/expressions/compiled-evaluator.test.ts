import { afterAll, expect, it } from 'vitest';
import { withCompiledMappings } from './compiled-evaluator.ts';
import { createEvaluatorPool } from './evaluator-pool.ts';

const evaluator = withCompiledMappings(createEvaluatorPool({ size: 2 }));
afterAll(() => evaluator[Symbol.asyncDispose]());

const common = { bindings: { lookups: { plan: 'table' } }, now: new Date(0), nulls: 'keep' } as const;

it('does a plain mapping alike with and without lookups of the records', async () => {
  const records = [{ a: 1 }, { a: [1, 2] }, { a: 'x' }, { a: [{ b: 1 }] }];
  const recordLookups = [{ plan: 1 }, null, { plan: 2 }, { plan: 3 }];
  const task = { ...common, expression: '{ "a": a }', records };
  const results = await evaluator.transform({ ...task, recordLookups });
  expect(results).toEqual(await evaluator.transform(task));
  expect(results).toMatchObject([1, [1, 2], 'x', [{ b: 1 }]].map((a) => ({ ok: true, value: { a } })));
});

it.each(['$lookups.plan', '$plan', 'lookups.plan'])('gives each record its own value of %s', async (path) => {
  const records = [{ a: 1 }, { a: 2 }, { a: 3 }];
  const recordLookups = [{ plan: 'own' }, null, { other: 1 }];
  const results = await evaluator.transform({ ...common, expression: `{ "p": ${path} }`, records, recordLookups });
  expect(results.map((result) => result.ok && result.value['p'])).toEqual(['own', 'table', 'table']);
});
