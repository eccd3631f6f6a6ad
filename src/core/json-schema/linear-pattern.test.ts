import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { cpuMsOf } from '../work/effort-fixture.ts';
import { createLinearPattern, PatternBudgetError, patternVisitsMax } from './linear-pattern.ts';

const patterns = [
  '^[A-Z]{2}\\d{4}$',
  '^\\d+$',
  'abc',
  'a|bc|',
  '^(?:a|b)*c?$',
  '^(a+)+$',
  '^.{2,4}$',
  '^.{2,}$',
  '^a{0}$',
  '\\bcat\\b',
  '\\Bat',
  '^[^@\\s]+@[^@\\s]+\\.[a-z]{2,}$',
  '^\\p{Lu}\\p{Ll}*$',
  '^[\\w-\\.]+$',
  '^[]$',
  '^[^]$',
  '^\\u{1F600}$',
  '^\\ud83d\\ude00$',
  '^😀+$',
  '^\\x41\\u0042\\t?$',
  '^(?<year>\\d{4})-(?<month>0[1-9]|1[0-2])$',
  '^https?://[^/]+(/.*)?$',
  '(^a|b$)',
  '^[a\\]b]+$',
  '^\\/\\.\\*$',
  '()*',
  '(a*)*b',
  '(a|ab)(c|bcd)(d*)$',
  'x{',
  '^a{,3}$',
  'a??b+?',
  '^$',
  '',
];
const texts = [
  '',
  'a',
  'ab',
  'abc',
  'AB1234',
  'AB12345',
  '42',
  'aaaaaaaa',
  'aaaa!',
  'concat cat',
  'category',
  'cat',
  'at bat',
  'jo@example.com',
  'jo@example',
  'Émile',
  'émile',
  'a-b.c_d',
  '😀',
  '😀😀',
  'AB',
  'AB\t',
  '2026-11',
  '2026-13',
  'https://x.test/a',
  'ftp://x',
  'ccb',
  'abcd',
  'a]b',
  '/.*',
  'x{',
  'a{,3}',
  '\n',
  'a\nb',
  ' ',
  '\u2028',
  '\x7f\x80ä😀\ud83d',
];

test.each(patterns)('the pattern %j agrees with the native engine', (pattern) => {
  const linear = createLinearPattern(pattern);
  const native = nativePattern(pattern);
  // Twice: what the first round works out, the second remembers.
  for (const text of [...texts, ...texts])
    expect([text, linear.test(text, { left: patternVisitsMax })]).toEqual([text, native.test(text)]);
});

function nativePattern(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return new RegExp(pattern);
  }
}

test.each(['^(a+)+$', '^(a|a)*$', '(.*a){25}$', '^(([a-z])+.)+[A-Z]([a-z])+$'])(
  'the backtracking trap %s is matched at once',
  (pattern) => {
    const linear = createLinearPattern(pattern);
    const cpuMs = cpuMsOf(() => {
      expect(linear.test(`${'a'.repeat(5_000)}!`, { left: patternVisitsMax })).toBe(false);
    });
    expect(cpuMs).toBeLessThan(1_000);
  },
);

test('a test that would take too long gives up instead', () => {
  const linear = createLinearPattern('(a|b)*a(a|b){2000}c');
  const text = Array.from({ length: 20_000 }, (_, index) => (index % 7 < 3 ? 'a' : 'b')).join('');
  expect(() => linear.test(text, { left: patternVisitsMax })).toThrow(PatternBudgetError);
});

test.each(['^[a-z]+$', '^\\d+$', '[^a-z]', '@'])('each text costs, however often %s has seen it', (pattern) => {
  const linear = createLinearPattern(pattern);
  const budget = { left: 100 };
  const testMany = () => Array.from({ length: 101 }, () => linear.test('abc', budget));
  expect(testMany).toThrow(PatternBudgetError);
});

test.each(['(?=a)b', 'a(?!b)', '(?<=a)b', '(?<!a)b', '(a)\\1', '(?<n>a)\\k<n>'])(
  'refuses %s, which has no linear program',
  (pattern) => {
    expect(() => createLinearPattern(pattern)).toThrow(/cannot be checked in bounded time/);
  },
);

test('refuses what is no regular expression, too long, or repeats too much', () => {
  expect(() => createLinearPattern('(){99999999}')).toThrow(/repeats too much/);
  expect(() => createLinearPattern('(')).toThrow(/is not a regular expression/);
  expect(() => createLinearPattern('a'.repeat(5_000))).toThrow(/longer than/);
  expect(() => createLinearPattern('(.{100}){200}')).toThrow(/repeats too much/);
});

test('what many patterns remember is bounded', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  const heapAfter = (count: number): number => {
    // Each has some 1,000 states of 1 KB.
    const remembering = Array.from({ length: count }, (_, index) => createLinearPattern(`(a|b)*a(a|b){9}${index}`));
    let bits = 1;
    const text = Array.from({ length: 3_000 }, () => {
      bits = (bits * 48_271) % 2_147_483_647;
      return bits % 2 === 0 ? 'a' : 'b';
    }).join('');
    for (const pattern of remembering) expect(pattern.test(text, { left: patternVisitsMax })).toBe(false);
    collect();
    expect(remembering).toHaveLength(count);
    return process.memoryUsage().heapUsed;
  };
  expect(heapAfter(200) - heapAfter(10)).toBeLessThan(60_000_000);
});
