import { expect, test } from 'vitest';
import { cpuMsOf } from '../../work/effort-fixture.ts';
import { decodeJsonLines } from './decode-jsonl.ts';

const decode = (text: string) => decodeJsonLines(Buffer.from(text), { bigNumbers: 'string' });

test('reads a value per line, whatever ends the line, and skips empty ones', () => {
  expect(decode('\uFEFF{"a":1}\r\n\n[2]\n12345678901234567890\n"\u2028"')).toEqual([
    { a: 1 },
    [2],
    '12345678901234567890',
    '\u2028',
  ]);
  expect(decode('')).toEqual([]);
});

test.each(['{"a":1}\n\n{"a":\n2}', '{"a":1}\n\n \n', '{"a":1}\n\n{"secret":1} {"b":2}'])(
  'names the line of %j without showing it',
  (text) => {
    expect(() => decode(text)).toThrow(expect.objectContaining({ code: 'source_rejected' }));
    expect(() => decode(text)).toThrow(/^Line 3 does not decode: The response body is (empty|not valid JSON)/);
  },
);

test('refuses more values than a page may have records', () => {
  expect(decode('0\n'.repeat(100_000))).toHaveLength(100_000);
  expect(() => decode('0\n'.repeat(100_001))).toThrow(/^A page has more than 100000 records/);
});

test.each(['\n', '\r\n'])('reads millions of empty lines quickly: %j', (end) => {
  const bytes = Buffer.from(end.repeat(30_000_000));
  expect(cpuMsOf(() => decodeJsonLines(bytes, { bigNumbers: 'string' }))).toBeLessThan(1500);
});
