import { afterAll, describe, expect, it } from 'vitest';
import { documentedExpressions } from '../../../test/support/expressions/documented-expressions.ts';
import { expressionsNotCompiled, recordsByHand } from '../../../test/support/expressions/expressions-by-hand.ts';
import { splitExpression } from './compiled/split.ts';
import { withCompiledExpressions } from './compiled-evaluator.ts';
import { type Evaluator } from './evaluation.ts';
import { createEvaluatorPool } from './evaluator-pool.ts';

const children = createEvaluatorPool({ size: 3 });
const pool = children.forOrg('org_a');
const evaluator = withCompiledExpressions(children).forOrg('org_a');
afterAll(() => children[Symbol.asyncDispose]());

const now = new Date(Date.UTC(2026, 0, 2));
const common = { bindings: { lookups: { plan: 'table' }, params: {}, each: {} }, now, nulls: 'keep' } as const;

/** As the pool evaluates them, where it does not matter who ran them. */
const withoutEngine = (results: readonly object[]) => results.map((result) => ({ ...result, engine: undefined }));

const records = [
  ...[1, 'x', null, [1, 2], [{ b: 1 }], { b: [1] }, [], '\ud800', -0, Number.POSITIVE_INFINITY, undefined].map((a) => ({
    a,
  })),
  ...[{ a: [{ b: 1 }], c: 1 }, {}, null, 5, 'text', [], [{ a: 1 }]],
  ...[{ a: { outerWrapper: true } }, { a: 'y'.repeat(200_000) }],
];

describe('an evaluator that compiles', () => {
  it.each([
    ...[
      '{"a": a}',
      '{"c": c, "a": a, "1": 1}',
      '{"a": a + 1}',
      '{"a": $uppercase(a)}',
      '{"a": $number(a)}',
      '{"a": a.b[0]}',
      '{"b": -a}',
      '{"a": 1/a}',
    ],
    ...[
      '{"a": a > "b"}',
      '{"a": $join(a)}',
      '{"a": a[]}',
      '{a: 1}',
      '{"k": 1, "k": 2}',
      '{"a": $error("stop")}',
      '{"a": $now()}',
    ],
    ...[
      '{"a": $lookups.plan, "b": $plan}',
      '{"a": $string($)}',
      '$',
      'a',
      '[a]',
      'missing',
      '"x"',
      '{"a": $map(a, $string)}',
      '{"a": ',
    ],
    ...[
      '{"a": a, "b": $map(a, $string), "c": a.b}',
      '{"b": $replace($string(a), /x|[,"]/, "y"), /* , */ "a": a}',
      "{'a': a, 'b': $map([1, 2], function($v) { $v + 1 }), 'c': {'d': a, 'e': [a, 1]}}",
      '{"a": a + 1, "b": $map(a, $string)}',
      '{"a": a, "b": $map(a, function($v) { $v + 1 })}',
      '{"a": missing, "b": $map(missing, $string)}',
      '{"a": $plan, "b": $map([$lookups.plan], $string), "c": $now()}',
      '{"a": a / 2, "b": $map(a, $string)}',
      '{"k": 1, "k": $map(a, $string)}',
      // These reach the whole record although they name a field of it at most.
      '{"a": a, "b": a@$i}',
      '{"a": a, "b": ($keys)()}',
      '{"a": a, "b": ($k := $keys; $k())}',
      '{"a": a, "b": ($l := $lookup; $l("a"))}',
      '{"a": a, "b": (function() { $string })()()}',
      '{"10": a, "9": $map(a, $string), "x": 1}',
    ],
  ])('returns for %s what the pool returns, including failures and their messages', async (expression) => {
    for (const nulls of ['keep', 'missing'] as const) {
      const task = { ...common, expression, records, nulls };
      const [compiled, interpreted] = await Promise.all([evaluator.transform(task), pool.transform(task)]);
      expect(withoutEngine(compiled)).toEqual(withoutEngine(interpreted));
    }
  });

  it('returns what the pool returns for mappings with both kinds of fields', async () => {
    let split = 0;
    const some = documentedExpressions.filter((_expression, index) => index % 3 === 0);
    for (const [index, documented] of some.entries()) {
      const other = expressionsNotCompiled[index % expressionsNotCompiled.length];
      const expression = `{"x": ${documented}, "y": ${other}, "z": 1}`;
      if (splitExpression(expression) !== null) split += 1;
      const task = { ...common, expression, records: recordsByHand };
      const [inParts, whole] = await Promise.all([evaluator.transform(task), pool.transform(task)]);
      expect({ expression, results: withoutEngine(inParts) }).toEqual({ expression, results: withoutEngine(whole) });
    }
    expect(split).toBeGreaterThan(some.length / 2);
  });

  it('leaves to the pool what cannot be compiled of a mapping, and no more', async () => {
    const asked: string[] = [];
    const inner: Evaluator = {
      ...pool,
      transform: (task) => {
        asked.push(task.expression);
        return pool.transform(task);
      },
    };
    const task = {
      ...common,
      expression: '{"a": a, "b": $map(b, $string), "c": c}',
      records: [{ a: 1, b: [2], c: 3 }],
    };
    const own = withCompiledExpressions({ ...children, forOrg: () => inner }).forOrg('org_a');
    expect(await own.transform(task)).toEqual([{ ok: true, value: { a: 1, b: '2', c: 3 } }]);
    expect(asked).toEqual(['{ "b": $map(b, $string)}']);
  });

  it.each(['a', 'a.b', 'a + 1', '$uppercase(a)', '$lookups.t', '$each.a', '$each', '$plan', 'missing', '$now()', '$'])(
    'evaluates %s over one input as the pool does',
    async (expression) => {
      for (const input of [{ a: 1, lookups: { t: 2 } }, { a: { b: [1] }, each: { a: 3 } }, { a: 'x' }, [1], null]) {
        const task = { expression, input, now };
        const [compiled, interpreted] = await Promise.allSettled([evaluator.evaluate(task), pool.evaluate(task)]);
        expect(compiled).toEqual(interpreted);
      }
    },
  );

  it('says which results are its own', async () => {
    const results = await evaluator.transform({
      ...common,
      expression: '{"a": a + 1}',
      records: [{ a: 1 }, { a: 'x' }],
    });
    expect(results).toMatchObject([{ ok: true, value: { a: 2 }, engine: 'compiled' }, { ok: false }]);
    const [left] = await evaluator.transform({ ...common, expression: '{"a": $map(a, $string)}', records: [{ a: 1 }] });
    expect(left).toEqual({ ok: true, value: { a: '1' } });
  });

  it('does a plain mapping alike with and without lookups of the records', async () => {
    const recordLookups = records.map((_record, index) => (index % 2 === 0 ? { plan: index } : null));
    const task = { ...common, expression: '{ "a": a }', records };
    expect(await evaluator.transform({ ...task, recordLookups })).toEqual(await evaluator.transform(task));
  });

  it.each(['$lookups.plan', '$plan', 'lookups.plan'])('gives each record its own value of %s', async (path) => {
    const recordLookups = [{ plan: 'own' }, null, { other: 1 }];
    const task = { ...common, expression: `{ "p": ${path} }`, records: [{ a: 1 }, { a: 2 }, { a: 3 }], recordLookups };
    const results = await evaluator.transform(task);
    expect(results.map((result) => result.ok && result.value['p'])).toEqual(['own', 'table', 'table']);
    expect(withoutEngine(results)).toEqual(withoutEngine(await pool.transform(task)));
  });

  it('keeps the limit on tables, whoever would run the expression', async () => {
    const bindings = { lookups: { large: 'x'.repeat(16_000_000) }, params: {}, each: {} };
    const task = { ...common, bindings, expression: '{"a": $lookups.none}', records: [{ a: 1 }] };
    await expect(evaluator.transform(task)).rejects.toMatchObject({ code: 'spec_invalid' });
  });

  it('changes neither the records nor the tables', async () => {
    const frozen = deepFreeze({ a: [{ b: [1] }, []], b: { c: null } });
    const bindings = { lookups: deepFreeze({ t: { a: [1] } }), params: {}, each: {} };
    const expression =
      '{"a": a[], "b": $.b, "c": $lookups.t.a[], "d": lookups.t.a, "e": $merge([b, {"c": 1}]), "f": $reverse(a)}';
    const task = { ...common, bindings, expression, records: [frozen] };
    expect(withoutEngine(await evaluator.transform(task))).toEqual(withoutEngine(await pool.transform(task)));
  });

  it('begins nothing for a task that has ended', async () => {
    const task = { ...common, expression: '{"a": a}', records: [{ a: 1 }], signal: AbortSignal.abort() };
    await expect(evaluator.transform(task)).rejects.toThrow('abort');
  });
});

function deepFreeze<Value extends object>(value: Value): Value {
  for (const child of Object.values(value)) if (typeof child === 'object' && child !== null) deepFreeze(child);
  return Object.freeze(value);
}
