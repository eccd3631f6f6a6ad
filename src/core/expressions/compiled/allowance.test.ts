import { describe, expect, it } from 'vitest';
import { compile } from './compile.ts';
import { InterpreterFallback } from './evaluation.ts';

const many = Array.from({ length: 2_000 }, (_unused, n) => ({ k: n, text: 'abc' }));
const root = { a: many, b: many, text: 'x'.repeat(1_000), n: 1e9, rows: [many, many] };

/** `null` when it hands back without naming an error: JSONata's processes are to find out. */
function outcomeOf(expression: string): unknown {
  const compiled = compile(expression);
  expect(compiled).not.toBeNull();
  try {
    return compiled?.evaluate(root, { bound: [], nowMs: 0 });
  } catch (error) {
    expect(error).toMatchObject({ name: 'Error', code: null });
    return null;
  }
}

const doubled = (first: string, next: (name: string) => string): string =>
  `(${[`$v0 := ${first}`, ...Array.from({ length: 60 }, (_unused, n) => `$v${n + 1} := ${next(`$v${n}`)}`), '$v60'].join('; ')})`;

describe('a compiled expression that would take long or grow large hands back', () => {
  it.each([
    ['a text that doubles', doubled('text', (name) => `${name} & ${name}`)],
    ['a text that doubles by joining', doubled('text', (name) => `$join([${name}, ${name}])`)],
    ['a text that grows by replacing', doubled('text', (name) => `$replace(${name}, "x", ${name})`)],
    ['a list that doubles', doubled('a', (name) => `$append(${name}, ${name})`)],
    ['a list that doubles as written', doubled('a', (name) => `[${name}, ${name}]`)],
    ['a tree of shared parts', doubled('1', (name) => `{"l": ${name}, "r": ${name}}`)],
    ['the text of a tree of shared parts', `$string(${doubled('1', (name) => `[[${name}], [${name}]]`)})`],
    [
      'two trees of shared parts that are equal',
      `${doubled('1', (n) => `{"l": ${n}, "r": ${n}}`)} = ${doubled('1', (n) => `{"l": ${n}, "r": ${n}}`)}`,
    ],
    ['padding', '$pad(text, n)'],
    ['padding with long units', '$pad("x", 1000000, text)'],
    ['a range', '[1..100001]'],
    [
      'many ranges',
      '[[1..9999], [1..9999], [1..9999], [1..9999], [1..9999], [1..9999], [1..9999], [1..9999], [1..9999], [1..9999], [1..9999]]',
    ],
    ['each item against each', 'a[k in $$.b.k]'],
    ['each item within each', 'a.($$.b.k)'],
    ['lists in lists', '$count(rows.(k.($$.a.k)))'],
    ['a long expression for each item', `$sum(a.(${Array.from({ length: 200 }, () => 'k').join(' + ')}))`],
    ['distinct values', '$distinct(a.k)'],
    ['the keys of each object for each item', 'a.($keys($$.a))'],
    ['spreading', '$spread(a).($spread($$.a))'],
    ['a result of more than is passed on', 'a'],
  ])('%s', (_what, expression) => {
    expect(outcomeOf(expression)).toBeNull();
  });

  it('where what is as large but ends soon does not', () => {
    expect(outcomeOf('$count(a.k) + $sum(a.k)')).toBe(2_000 + 1_999_000);
    expect(outcomeOf('a[k = 7].text')).toBe('abc');
    expect(outcomeOf('$length($join(a.text))')).toBe(6_000);
  });
});

it('the results of a page have a limit together; those beyond it are handed back', () => {
  const compiled = compile('{"text": text}');
  const page = { lengthLeft: 2500 };
  const evaluate = () => compiled?.evaluate({ text: 'x'.repeat(1000) }, { bound: [], nowMs: 0, page });
  for (let nth = 1; nth <= 3; nth += 1) expect(evaluate()).toHaveProperty('text');
  expect(evaluate).toThrow(InterpreterFallback);
});
