import { describe, expect, test } from 'vitest';
import { cpuMsOf } from '../work/effort-fixture.ts';
import { createCoerce } from './coerce.ts';
import { compileValidator } from './validate.ts';

const coerced = (value: unknown, schema: unknown) =>
  createCoerce({ properties: { value: schema } })({ value })['value'];

describe('a scalar becomes what the schema names', () => {
  test.each<[unknown, unknown, unknown]>([
    ['12', { type: 'integer' }, 12],
    ['-9007199254740991', { type: 'integer' }, -9_007_199_254_740_991],
    ['0', { type: ['null', 'integer'] }, 0],
    ['12.50', { type: 'number' }, 12.5],
    ['0.1', { type: 'number' }, 0.1],
    ['1e3', { type: 'number' }, 1000],
    ['true', { type: 'boolean' }, true],
    ['false', { type: ['boolean', 'null'] }, false],
    [12, { type: 'string' }, '12'],
    [1.5, { type: ['string', 'null'] }, '1.5'],
    [false, { type: 'string' }, 'false'],
    ['12', { type: ['boolean', 'number'] }, 12],
  ])('%j under %j is %j', (value, schema, expected) => {
    expect(coerced(value, schema)).toBe(expected);
  });
});

describe('it stays what it is', () => {
  test.each<[string, unknown, unknown]>([
    ['when one of the types fits', '12', { type: ['integer', 'string'] }],
    ['without a type', '12', { minimum: 1 }],
    ['with leading zeros, which a number would lose', '012', { type: 'integer' }],
    ['beyond 2^53, which a double would round', '9007199254740993', { type: 'integer' }],
    ['with more digits than a double holds', '0.12345678901234567', { type: 'number' }],
    ['when it is empty', '', { type: ['integer', 'null'] }],
    ['with blanks', ' 12', { type: 'number' }],
    ['negative zero', '-0', { type: 'integer' }],
    ['with a fraction where an integer is wanted', '12.5', { type: 'integer' }],
    ['in another case', 'TRUE', { type: 'boolean' }],
    ['as 1, which may mean something else than true', 1, { type: 'boolean' }],
    ['as null', null, { type: 'string' }],
    ['as a list', ['12'], { type: 'integer' }],
    ['within a choice', '12', { anyOf: [{ type: 'integer' }, { type: 'boolean' }] }],
  ])('%s', (_why, value, schema) => {
    expect(coerced(value, schema)).toEqual(value);
  });
});

test('it reaches into objects, lists, references and allOf, and copies only what changes', () => {
  const coerce = createCoerce({
    $defs: { amount: { type: 'object', properties: { cents: { type: 'integer' } } } },
    allOf: [{ properties: { paid: { type: 'boolean' } } }],
    properties: {
      amount: { $ref: '#/$defs/amount' },
      tags: { type: 'array', items: { type: 'string' } },
      pair: { type: 'array', prefixItems: [{ type: 'integer' }], items: { type: 'boolean' } },
    },
    additionalProperties: { type: 'number' },
  });
  const record = { amount: { cents: '5' }, tags: [1, 'b'], pair: ['1', 'true'], paid: 'true', rest: '2.5', name: 'x' };
  expect(coerce(record)).toEqual({
    amount: { cents: 5 },
    tags: ['1', 'b'],
    pair: [1, true],
    paid: true,
    rest: 2.5,
    name: 'x',
  });
  expect(record.amount).toEqual({ cents: '5' });
  const sound = { tags: ['a'], amount: { cents: 1 } };
  expect(coerce(sound)).toBe(sound);
});

const many = (count: number, schema: unknown) => ({ allOf: Array.from({ length: count }, () => schema) });

test.each<[string, object, number]>([
  ['subschemas', many(400, { items: { type: 'string' } }), 90_000],
  ['subschemas that allow all', { items: many(40_000, true) }, 2_000],
])('a record that takes too long for %s stays what it is, for the validator to refuse', (_what, list, length) => {
  const schema = { properties: { list } };
  const record = { list: Array.from({ length }, (_, index) => index) };
  const coerce = createCoerce(schema);
  const results: unknown[] = [];
  expect(cpuMsOf(() => results.push(coerce(record)))).toBeLessThan(300);
  expect(results[0]).toBe(record);
  expect(compileValidator(schema)(record)).toMatchObject([{ path: '', keyword: 'schema' }]);
});

test('a schema that is none is refused', () => {
  expect(() => createCoerce({ properties: { child: { $ref: '#' } } })).toThrow('refers to itself');
});
