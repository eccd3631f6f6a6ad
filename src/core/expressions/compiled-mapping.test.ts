import jsonata from 'jsonata';
import { afterAll, describe, expect, it } from 'vitest';
import { withCompiledMappings } from './compiled-evaluator.ts';
import { compileMapping, needsJsonata } from './compiled-mapping.ts';
import { createEvaluatorPool } from './evaluator-pool.ts';

const inner = createEvaluatorPool();
const evaluator = withCompiledMappings(inner);
afterAll(() => evaluator[Symbol.asyncDispose]());

/** Values that a path can end at or pass through, and texts that look like numbers. */
const values: readonly unknown[] = [
  ...[undefined, null, true, false, 0, -0, 1, -1.5, 1e21, 2 ** 53, 'x', '', ' ', 'null', '[object Object]'],
  ...['0', '-0', '1', '-1.5', '1.50', '01', '1.', '.5', '1e3', '1E-2', '0x1F', '0b1', 'Infinity', 'NaN', '12 ', '+1'],
  ...['999999999999999', '9999999999999999', '0.123456789012345678', '1_000', '١', 'x'.repeat(60_000)],
  ...[{}, { c: 1 }, { c: null }, { c: { d: 'deep' } }, { c: [1, 2] }, { c: ['one'] }, { c: [] }],
  ...[[], [1], ['a', 'b'], [[1]], [{ c: 1 }], [{ c: 1 }, { c: 2 }], [null], [undefined, 1], [{}]],
];
const records: readonly unknown[] = [
  ...values.map((a) => ({ a })),
  ...values.map((c) => ({ a: { c }, b: c })),
  ...values.map((d) => ({ a: { c: { d } }, 'odd name': d, lookups: { a: 'own' } })),
  ...[{}, { b: 1 }, { A: 1 }, JSON.parse('{"__proto__":{"a":1},"constructor":2,"toString":3}'), []],
];

const plain = [
  ...[
    '{}',
    '{"a":a}',
    "{'a': a, 'b': b}",
    '{"x": a.c}',
    '{"x": a.c.d, "y": b}',
    '{"x": `odd name`}',
    '{ "x" : a . c }',
  ],
  ...['{"n": $number(a)}', '{"n": $number(a.c)}', '{"n": $number(a.c.d), "a": a}', '{"n": $number(b), "k": "text"}'],
  ...['{"s": "x", "n": 1, "m": -1.5, "t": true, "f": false, "z": null}', '{"o": {"a": a, "p": {"q": a.c}}}'],
  ...['{"a": a, "o": {}}', '{"": a}', '{"toString": a, "constructor": b}', '{"x": toString, "y": constructor}'],
  ...['{"x": hasOwnProperty, "y": a.constructor}', '/* c */ {"a": a}', '{"x": `a`.`c`}', '{"a": a."c"}'],
];

/** Not plain mappings, each by one detail: all of it must go the ordinary way. */
const others = [
  ...['{"a": a[0]}', '{"a": a[]}', '{"a": a}[0]', '{"a": a}.a', '{"a": "x"[0]}', '{"a": $number(a)[0]}', '{a: b}'],
  ...['{"a": a, "a": b}', '{"a": a.*}', '{"a": a.%}', '{"a": a^(c)}', '{"a": a#$i}', '{"a": a@$v}', '{"a": $}'],
  ...['{"a": a}{"b": b}', '{"a": $number(a, 1)}', '{"a": $number()}', '{"a": $number("1")}', '{"a": $string(a)}'],
  ...['{"a": a & b}', '{"a": a ? b : 1}', '{"a": -a}', '{"a": [a]}', '{"a": (a)}', '{"a": a.(c)}', '{"a": lookups.a}'],
  ...[
    '{"a": a.{"b": c}}',
    '$.{"a": a}',
    '({"a": a})',
    '{"__proto__": a}',
    '{"a": $a}',
    '{"a": $$.a}',
    '{"a": a.$number(c)}',
  ],
  ...['{"a": a ~> $number}', '{"a": a in b}', '{"a": a = b}', '{"a": function($x){$x}}', '{"a": /x/}', '{"a": a :: b}'],
  ...[
    '[{"a": a}]',
    'a',
    '"x"',
    '{"a": "\\ud800"}',
    '{"a": 1',
    '',
    '{"a": a.c[d=1]}',
    '{"a": $lookups.a}',
    '{"a": $now()}',
  ],
];
const expressions = [...plain, ...others];

describe('a compiled mapping', () => {
  it.each(expressions.flatMap((expression) => (['keep', 'missing'] as const).map((nulls) => ({ expression, nulls }))))(
    'of $expression ($nulls) gives what the interpreter gives, record by record',
    async ({ expression, nulls }) => {
      const task = { expression, nulls, records, bindings: { lookups: { a: 'table' } }, now: new Date(0) };
      const [compiled, interpreted] = await Promise.all([evaluator.transform(task), inner.transform(task)]);
      expect(compiled).toEqual(interpreted);
    },
  );

  it('really is compiled where it can be, and only there', () => {
    const isCompiled = (expression: string) => compileMapping(expression, { nulls: 'keep' }) !== null;
    expect(plain.filter((expression) => !isCompiled(expression))).toEqual([]);
    expect(others.filter(isCompiled)).toEqual([]);
  });

  it('answers most records itself', () => {
    const mapping = compileMapping('{"id": id, "name": name, "lat": $number(lat), "city": address.city}', {
      nulls: 'keep',
    });
    const record = { id: 1, name: 'Bergen', lat: '60.39', address: { city: 'Bergen' } };
    expect(mapping?.(record)).toEqual({ id: 1, name: 'Bergen', lat: 60.39, city: 'Bergen' });
    expect(mapping?.({ ...record, lat: '0x1F' })).toBe(needsJsonata);
  });

  it('keeps no function of the engine among its values', async () => {
    expect(await jsonata('{"x": toString}').evaluate({})).toEqual({});
    expect(compileMapping('{"x": toString}', { nulls: 'keep' })?.({})).toEqual({});
  });
});
