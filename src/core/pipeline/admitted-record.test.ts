import { expect, test } from 'vitest';
import { plainnessOf } from '../expressions/compiled/plain-json.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import { findIssue } from '../json/record-gate.ts';
import { admittedRecord } from './admitted-record.ts';

const nested = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);
const zeros = (count: number): number[] => Array.from({ length: count }, () => 0);

const text = (record: unknown): string | null => admittedRecord(record, 'v1')?.text ?? null;

test.each([
  ['an ordinary record', { id: 1, b: 'Ada', a: ['x', { d: null, c: -0 }], address: { zip: null }, ok: true }],
  ['64 levels', nested(64)],
  ['an emoji, a tab and a quote', { s: '😀\t"' }],
  ['a scalar', 'text'],
  ['150 columns', Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`c${(n * 7) % 150}`, n]))],
  ['names that are numbers', { b: 1, 10: { 2: 'x', 1: 'y' }, 9: 0, a: [] }],
  ['99,999 values in a list', zeros(99_999)],
])('is the same for %s whatever the order of its properties', (_what, record) => {
  expect(findIssue(record)).toBeNull();
  expect(text(record)).not.toBeNull();
  // What is learnt of its names shows when they come again.
  for (let time = 1; time <= 3; time += 1) {
    expect(text(turned(record))).toBe(text(record));
    expect(text(JSON.parse(canonicalJson(record)))).toBe(text(record));
  }
});

test('tells apart whatever canonical JSON tells apart', () => {
  const [digest] = JSON.parse(text({ a: 1 }) ?? '')[1];
  const scalars = [null, true, 0, 1, '', '0', '1', 'a', digest];
  const level = (values: readonly unknown[]) => [
    ...values,
    ...values.map((value) => [value]),
    ...values.flatMap((value) => [{ a: value }, { b: value }, { a: value, b: value }, [digest, value], [0, value]]),
    [],
    {},
  ];
  const values = level(level(scalars));
  const distinct = (texts: readonly (string | null)[]) => new Set(texts).size;
  expect(distinct(values.map(text))).toBe(distinct(values.map((value) => canonicalJson(value))));
});

test('depends on what it is salted with', () => {
  expect(admittedRecord({ a: 1 }, 'v2')?.text).not.toBe(text({ a: 1 }));
});

test.each([
  ['65 levels', nested(65)],
  ['100,000 levels', nested(100_000)],
  ['100,001 values', zeros(100_001)],
  ['100,001 values in lists', [zeros(50_000), zeros(50_000)]],
  ['NUL', { a: ['x\0'] }],
  ['NUL in a name', { 'a\0': 1 }],
  ['half a surrogate pair', { a: '\ud800' }],
  ['half a surrogate pair in a name', { '\udc00': 1 }],
  ['a number beyond JSON', JSON.parse('{"a":[1e400]}')],
  ['__proto__', JSON.parse('{"a":{"__proto__":1}}')],
  ['constructor', { constructor: 1 }],
  ['a function', { f: () => 1 }],
  ['what is undefined', { a: undefined }],
])('is null for %s', (_what, record) => {
  expect(findIssue(record)).not.toBeNull();
  expect(text(record)).toBeNull();
});

test('leaves a record to the gate that has a character which is written as an escape', () => {
  expect(findIssue({ a: '\u0001' })).toBeNull();
  expect(text({ a: '\u0001' })).toBeNull();
});

test.each([
  ['an ordinary record', { id: 1, a: ['x', { d: null, c: 0 }], ok: true, s: '😀' }],
  ['64 levels', nested(64)],
  ['a scalar', 'text'],
  ['-0', { a: [{ b: -0 }] }],
  ['a name that means something to JSONata', { a: { _jsonata_lambda: true } }],
  ['such a name that comes again', { a: [{ tupleStream: 1 }, { tupleStream: 2 }] }],
])('sees as expressions do whether %s is plain', (_what, record) => {
  expect(admittedRecord(record, 'v1')?.isPlain).toBe(plainnessOf(record, { nodesMax: 100_000 }) === 'plain');
});

/** The same value, the properties of its objects in the opposite order. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, inner]) => [name, turned(inner)])
      .toReversed(),
  );
}
