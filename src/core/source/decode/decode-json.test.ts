import { describe, expect, test } from 'vitest';
import { cpuMsOf } from '../../work/effort-fixture.ts';
import { decodeJson, measureJson } from './decode-json.ts';

const decode = (text: string, bigNumbers: 'string' | 'number' = 'string') =>
  decodeJson(new TextEncoder().encode(text), { bigNumbers });

test.each([
  ['{"id":9007199254740991}', { id: 9007199254740991 }],
  ['{"id":9007199254740992}', { id: '9007199254740992' }],
  ['{"id":-12345678901234567890}', { id: '-12345678901234567890' }],
  ['[12345678901234567890,1]', ['12345678901234567890', 1]],
  ['12345678901234567890', '12345678901234567890'],
  ['{"a":0.12345678901234567890}', { a: 0.12345678901234568 }],
  ['{"a":1234567890123456.75}', { a: 1234567890123456.75 }],
  ['{"a":12345678901234567890e2}', { a: Number('12345678901234567890e2') }],
  ['{"a":1e1234567890123456789}', { a: Infinity }],
  [
    '{"a":"x, 12345678901234567890 ","b":12345678901234567890}',
    { a: 'x, 12345678901234567890 ', b: '12345678901234567890' },
  ],
  ['{"a\\"":"\\\\","b" : 12345678901234567890 }', { 'a"': '\\', b: '12345678901234567890' }],
  ['{"12345678901234567890":12345678901234567890}', { '12345678901234567890': '12345678901234567890' }],
  ['\uFEFF{"a":1}', { a: 1 }],
])('decodes %s', (text, expected) => {
  expect(decode(text)).toEqual(expected);
});

test('finds a big integer of 16 digits wherever it stands', () => {
  for (let before = 0; before < 40; before += 1) {
    const text = `${' '.repeat(before)}[1,123456789012345,9007199254740993,123456789012345]`;
    expect(decode(text)).toEqual([1, 123456789012345, '9007199254740993', 123456789012345]);
  }
});

test('rounds big integers where the spec asks for numbers', () => {
  expect(decode('[12345678901234567890]', 'number')).toEqual([12345678901234567000]);
});

test.each([
  '',
  '  ',
  '<html>',
  '{"a":1',
  '{"a":1}}',
  '{12345678901234567890:1}',
  '{12345678901234567890 : 1}',
  '[012345678901234567890]',
  '[+12345678901234567890]',
  '[1 12345678901234567890]',
  '["a"12345678901234567890]',
  '["12345678901234567890]',
  "{'a':12345678901234567890}",
])('refuses %j without showing it', (text) => {
  expect(() => decode(text)).toThrow(expect.objectContaining({ code: 'source_rejected' }));
  expect(() => decode(text)).toThrow(/^The response body is (empty|not valid JSON)/);
});

test('refuses bytes that are not UTF-8', () => {
  const bytes = Uint8Array.of(0x22, 0xff, 0x22);
  expect(() => decodeJson(bytes, { bigNumbers: 'string' })).toThrow(/not valid UTF-8/);
});

test('a __proto__ key is own data and reaches no prototype', () => {
  const value = decode('{"__proto__":{"polluted":1},"n":12345678901234567890}');
  expect(Object.keys(Object(value))).toEqual(['__proto__', 'n']);
  expect(Reflect.get({}, 'polluted')).toBeUndefined();
});

test('takes any depth, so that one deep record does not cost its page', () => {
  const deep = `${'['.repeat(50_000)}12345678901234567890${']'.repeat(50_000)}`;
  expect(Array.isArray(decode(deep))).toBe(true);
});

describe('a body of very many values', () => {
  test.each(['[]', '{}', '0', '{"a":0}'])('is refused before it is read: %s', (value) => {
    const bytes = Buffer.from(`[${`${value},  `.repeat(3_000_000)}0]`);
    expect(() => measureJson(bytes)).toThrow(/^The response body has more than 3000000 values/);
  });

  test.each([',', '[', '\\"{'])('is not one with a text full of %s', (part) => {
    expect(measureJson(Buffer.from(`["${part.repeat(6_000_000)}"]`))).toEqual({ values: 1, names: 0 });
  });

  test('has as many names as differ, whatever their values and the white space behind them', () => {
    const rows = Array.from({ length: 1000 }, (_, id) => `{"id" :${id},"a\\"b"\n:"c:","list":["id"]}`);
    expect(measureJson(Buffer.from(`[${rows.join()}]`)).names).toBe(3);
  });

  test('is refused when its names are very many', () => {
    const names = (count: number) => Buffer.from(`{${Array.from({ length: count }, (_, no) => `"${no}":0`).join()}}`);
    expect(measureJson(names(400_000)).names).toBeGreaterThan(380_000);
    expect(() => measureJson(names(600_000))).toThrow('more than 500000 different names');
  });

  test('takes little more time when it holds a big integer', () => {
    const text = `["",${'"",'.repeat(4_000_000)}12345678901234567890]`;
    expect(cpuMsOf(() => decode(text))).toBeLessThan(2 * cpuMsOf(() => decode(text, 'number')) + 500);
  });
});
