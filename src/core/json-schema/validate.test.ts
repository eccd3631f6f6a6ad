import { expect, test } from 'vitest';
import { cpuMsOf, leastGrowth } from '../work/effort-fixture.ts';
import { compileValidator } from './validate.ts';

const contact = {
  type: 'object',
  'x-type': 'contact',
  required: ['id'],
  additionalProperties: false,
  properties: {
    id: { type: 'integer', 'x-key': true },
    email: { type: ['string', 'null'], format: 'email' },
    code: { type: 'string', pattern: '^[A-Z]{2}\\d+$' },
    tags: { type: 'array', uniqueItems: true, items: { type: 'string' } },
    address: { $ref: '#/$defs/address' },
  },
  $defs: { address: { type: 'object', properties: { zip: { type: 'string', minLength: 3 } } } },
};
const validate = compileValidator(contact);

test('a valid record has no issues', () => {
  expect(validate({ id: 1, email: null, code: 'AB1', tags: ['a', 'b'], address: { zip: '12345' } })).toBeNull();
});

test('every issue is reported at its path, without values', () => {
  const issues = validate({
    id: 'secret',
    email: 'secret',
    code: 'secret',
    tags: ['s', 's'],
    address: { zip: 's' },
    more: 1,
  });
  expect(issues?.map(({ path, keyword }) => `${path} ${keyword}`).sort()).toEqual([
    'address.zip minLength',
    'code pattern',
    'email format',
    'id type',
    'more additionalProperties',
    'tags uniqueItems',
  ]);
  expect(JSON.stringify(issues)).not.toContain('secret');
});

test('a missing property is reported where it should be', () => {
  expect(validate({})).toEqual([{ path: 'id', message: "must have required property 'id'", keyword: 'required' }]);
});

test.each([
  [{ required: ['toString'] }, false],
  [{ properties: { toString: { type: 'string' } } }, true],
])('an inherited property does not count for %j', (schema, valid) => {
  expect(compileValidator(schema)({}) === null).toBe(valid);
});

const properties = { a: true };
test.each([
  { properties },
  { anyOf: [{ properties }, { properties: { b: true } }] },
  { oneOf: [{ properties, required: ['a'] }, { required: ['b'] }] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  { if: { required: ['a'] }, then: { properties } },
  { dependentSchemas: { a: { properties } } },
  { allOf: [{ anyOf: [{ properties }] }] },
  { $ref: '#/$defs/one', $defs: { one: { anyOf: [{ properties }] } } },
])('unevaluatedProperties beside %j refuses each property that no part of it names, whatever its name', (beside) => {
  const isValid = compileValidator({ ...beside, unevaluatedProperties: false });
  expect(isValid({ a: 1 })).toBeNull();
  for (const name of ['other', ...Object.getOwnPropertyNames(Object.prototype)]) {
    const record: unknown = JSON.parse(`{"a":1,"${name}":1}`);
    expect(isValid(record)).toMatchObject([{ path: name, keyword: 'unevaluatedProperties' }]);
  }
});

test.each([
  [{ type: 'integer' }, '9007199254740993', true],
  [{ type: 'integer' }, '-9007199254740993', true],
  [{ type: ['integer', 'null'] }, '9007199254740993', true],
  [{ type: 'number' }, '9007199254740993', true],
  [{ anyOf: [{ type: 'integer' }, { type: 'boolean' }] }, '9007199254740993', true],
  [{ type: 'integer', format: 'int64' }, '9007199254740993', true],
  [{ type: 'integer' }, '9007199254740991', false],
  [{ type: 'integer' }, '10000000000000000', true],
  [{ type: 'integer' }, '-1234567890123456789', true],
  [{ type: 'integer' }, '9007199254740993\n', false],
  [{ type: 'integer' }, '12', false],
  [{ type: 'integer' }, '012345678901234567890', false],
  [{ type: 'integer' }, '12345678901234567890.5', false],
  [{ type: 'integer' }, 1.5, false],
  [{ type: 'string', maxLength: 3 }, '9007199254740993', false],
])('%j takes the big integer %j: %s', (schema, value, valid) => {
  expect(compileValidator({ properties: { n: schema } })({ n: value }) === null).toBe(valid);
});

test('a decimal string is no integer where the spec asks for numbers', () => {
  const strict = compileValidator({ properties: { n: { type: 'integer' } } }, { bigIntegers: false });
  expect(strict({ n: '9007199254740993' })).toEqual([{ path: 'n', message: 'must be integer', keyword: 'type' }]);
});

test.each([
  ['no schema', 7, 'must be an object'],
  ['a list', [], 'must be an object'],
  ['an unknown type', { type: 'strin' }, 'schema is invalid'],
  ['an unknown keyword', { properties: { a: { requird: true } } }, 'unknown keyword'],
  ['an unknown format', { format: 'colour' }, 'unknown format'],
  ['a foreign reference', { $ref: 'https://example.com/schema' }, 'same schema'],
  ['a reference to nothing', { $ref: '#/$defs/a' }, 'points to nothing'],
  ['a broken reference', { $ref: '#/%' }, 'not well-formed'],
  ['a circle', { properties: { child: { $ref: '#' } } }, 'refers to itself'],
  ['a dynamic reference', { $dynamicRef: '#a' }, 'use $ref'],
  ['lookahead', { pattern: '^(?!x)' }, 'lookaround'],
  ['a broken pattern', { patternProperties: { '(': true } }, 'not a regular expression'],
  ['70 levels', JSON.parse(`${'{"not":'.repeat(70)}{}${'}'.repeat(70)}`), 'deeper'],
  ['300 KB', { enum: ['x'.repeat(300_000)] }, 'longer than'],
  ['a forbidden name', JSON.parse('{"properties":{"__proto__":{}}}'), '__proto__'],
])('refuses a schema with %s', (_what, schema, reason) => {
  expect(() => compileValidator(schema)).toThrow(expect.objectContaining({ code: 'spec_invalid' }));
  expect(() => compileValidator(schema)).toThrow(reason);
});

test('refuses references that multiply', () => {
  const names = Array.from({ length: 30 }, (_, index) => `d${index}`);
  const doubling = names.map((name, index) => {
    const next = { $ref: `#/$defs/${names[index + 1] ?? name}` };
    return [name, index === 29 ? { type: 'object' } : { allOf: [next, next] }] as const;
  });
  const schema = { $ref: '#/$defs/d0', $defs: Object.fromEntries(doubling) };
  expect(() => compileValidator(schema)).toThrow(/more than 5000 schemas/);
});

test('takes a schema of 1,000 properties, and refuses one that has more than the stack holds', () => {
  const wide = (count: number) => ({
    properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, { type: 'string' }])),
  });
  expect(compileValidator(wide(1_000))({ p999: 1 })).toMatchObject([{ path: 'p999' }]);
  expect(() => compileValidator(wide(2_200))).toThrow(/has too many properties/);
  const inside = (count: number) =>
    compileValidator({ properties: { a: { $ref: '#/$defs/wide' } }, $defs: { wide: wide(count) } });
  expect(inside(1_000)({ a: { p999: 1 } })).toMatchObject([{ path: 'a.p999' }]);
  expect(() => inside(2_200)({ a: { p999: 1 } })).toThrow(/has too many properties/);
});

test('refuses patterns that are too large together', () => {
  const repeated = (index: number) => ({ pattern: `(?:(?:a?){70}){70}${index}` });
  const classes = (index: number) => ({ pattern: `^[${String.fromCodePoint(0x4e00 + index)}a]{2}[b-z]$` });
  const schemaOf = (count: number, property: (index: number) => object) => ({
    properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, property(index)])),
  });
  expect(() => compileValidator(schemaOf(6, repeated))).toThrow(/more than 50000 steps together/);
  expect(() => compileValidator(schemaOf(1000, classes))).toThrow(/more than 50000 steps together/);
  expect(compileValidator(schemaOf(4, repeated))({ p1: '1' })).toBeNull();
});

test.each<[string, (index: number) => object]>([
  ['patterns', (index) => ({ pattern: `^(a+)+$|${index}` })],
  ['types', (index) => ({ type: ['string', 'null'], maxLength: index })],
  ['choices', (index) => ({ anyOf: [{ const: index }, { type: 'null' }] })],
])('compiling takes time in proportion to the number of %s', (_what, property) => {
  let made = 0;
  const compileNew = (count: number) => () => {
    made += 1;
    const entries = Array.from({ length: count }, (__, index) => [`p${index}_${made}`, property(index)]);
    compileValidator({ properties: Object.fromEntries(entries) });
  };
  // 12 times as many: the square would be 144 times the time.
  expect(leastGrowth(compileNew(50), compileNew(600), 60)).toBeLessThan(60);
});

test.each([
  ['backtracking pattern', { items: { pattern: '^(a+)+$' } }, [`${'a'.repeat(50_000)}!`]],
  [
    'patterns with many states',
    { items: { pattern: '(a|b)*a(a|b){900}c' } },
    Array.from({ length: 50 }, () => 'abaab'.repeat(2_000)),
  ],
  ['format on a long text', { items: { format: 'url' } }, [`http://${':'.repeat(1_000_000)}`]],
  [
    'unique items',
    { uniqueItems: true },
    Array.from({ length: 30_000 }, (_, index) => ({ a: index, b: [index] })).concat({ a: 0, b: [0] }),
  ],
  [
    'an error for every item',
    { items: { allOf: Array.from({ length: 500 }, () => ({ type: 'string' })) } },
    Array.from({ length: 50_000 }, () => 0),
  ],
])('a hostile %s is validated within a second', (_what, schema, record) => {
  const check = compileValidator(schema);
  const results: ReturnType<typeof check>[] = [];
  expect(cpuMsOf(() => results.push(check(record)))).toBeLessThan(1_000);
  const [issues] = results;
  expect(issues?.length).toBeGreaterThan(0);
  expect(issues?.length).toBeLessThanOrEqual(100);
});

const times = (count: number, schema: object): readonly object[] => Array.from({ length: count }, () => schema);
const whole = Array.from({ length: 90_000 }, (_, index) => index);
const urls = Array.from({ length: 20 }, () => `http://[${'1:'.repeat(2_040)}`);

test.each<[string, object, readonly unknown[], string]>([
  ['subschemas for each value', { items: { allOf: times(400, { minimum: -1 }) } }, whole, 'schema'],
  ['unique items', { allOf: times(60, { uniqueItems: true }) }, whole, 'schema'],
  ['limits of length', { items: { allOf: times(400, { maxLength: 1e9 }) } }, ['a'.repeat(5_000_000)], 'schema'],
  ['a long list of values', { items: { enum: whole.slice(30_000, 60_000) } }, whole, 'schema'],
  ['URLs', { items: { anyOf: [...times(40, { format: 'url' }), {}] } }, urls, 'pattern'],
])('a record that takes too long for %s is refused', (_what, schema, record, keyword) => {
  const check = compileValidator(schema);
  const results: ReturnType<typeof check>[] = [];
  expect(cpuMsOf(() => results.push(check(record)))).toBeLessThan(700);
  expect(results).toMatchObject([[{ path: '', keyword, message: expect.stringContaining('too long') }]]);
  expect(check([])).toBeNull();
});

test('the record with the most values is validated against a usual schema', () => {
  const items = { type: 'object', required: ['id'], properties: { id: { type: 'integer', minimum: 0 } } };
  expect(compileValidator({ items })(whole.slice(0, 49_000).map((id) => ({ id })))).toBeNull();
});

test('the report of all errors is left out where names that are missing would make millions', () => {
  const items = { required: whole.slice(0, 3_000).map(String) };
  expect(compileValidator({ items })(times(200, {}))).toHaveLength(1);
});

test('two schemas with one $id do not meet', () => {
  const one = compileValidator({ $id: 'https://example.com/s', type: 'object' });
  const other = compileValidator({ $id: 'https://example.com/s', type: 'array' });
  expect([one({}), other([])]).toEqual([null, null]);
});

test('reads draft 7 where the schema says so', () => {
  const draft7 = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    items: [{ type: 'string' }],
    additionalItems: false,
  };
  expect(compileValidator(draft7)(['a', 1])).not.toBeNull();
  expect(compileValidator(draft7)(['a'])).toBeNull();
});

test('an issue can be stored whatever the names of the record hold', () => {
  const strict = compileValidator({ additionalProperties: false });
  expect(strict({ 'a\0': 1, 'b\ud800': 1 })?.map(({ path }) => path)).toEqual(['a\\u0000', 'b\\ud800']);
});

test.each(['valueOf', 'toString'])('what cannot be compared for its %s costs its record', (name) => {
  const isOne = compileValidator({ properties: { m: { enum: [{ a: 1 }] } } });
  expect(isOne({ m: { [name]: 1 } })).toEqual([
    { path: '', message: 'has a value that cannot be compared', keyword: 'schema' },
  ]);
});
