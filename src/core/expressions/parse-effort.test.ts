import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../work/effort-fixture.ts';
import { parseExpression } from './expression.ts';
import { parseEffort } from './parse-effort.ts';

const nested = (operator: string, depth: number): string =>
  depth === 0 ? 'a' : `(${nested(operator, depth - 1)} ${operator} b)`;

describe('the effort of parsing', () => {
  it.each(['??', '?:'])('doubles with each %s around another', (operator) => {
    expect(parseEffort(nested(operator, 21)) / parseEffort(nested(operator, 20))).toBeCloseTo(2, 1);
  });

  it.each(['{ "k": (a ?? b) & (c ?? d) }', '{ "s": ")))" & a ?? "(((", "t": `]` ?? 1 /* ( */ }', 'a ?? b ?? c ?: d'])(
    'of %s is that of its length, a few times at most',
    (text) => {
      expect(parseEffort(text)).toBeGreaterThanOrEqual(text.length / 2);
      expect(parseEffort(text)).toBeLessThanOrEqual(text.length * 3);
    },
  );

  it.each(['??', '?:'])('is bounded before the parser begins: 40 nested %s are refused with advice', (operator) => {
    expect(parseExpression(nested(operator, 40))).toEqual({
      ok: false,
      message: expect.stringContaining('bind the inner ones to variables first'),
    });
  });

  it.each(['"("', "'('", '`(`', '/* ( */ a'])('sees nesting behind %s too', (head) => {
    expect(parseExpression(`${head} & ${nested('??', 40)}`).ok).toBe(false);
  });

  it('cannot be misled by a quote in a pattern', () => {
    expect(parseExpression(`[a ~> /"/, ${nested('??', 40)}, a ~> /"/]`).ok).toBe(false);
    expect(parseExpression(`[a and /"/, ${nested('??', 40)}, a and /"/]`).ok).toBe(false);
  });

  it('refuses nothing that is merely long', () => {
    const columns = Array.from({ length: 500 }, (_unused, n) => `"c${n}": $trim(a.b${n} ?? "") ?? null`);
    expect(parseExpression(`{ ${columns.join(', ')} }`).ok).toBe(true);
    const replaced = columns.map((column) => column.replace(/\$trim\((.*)\) /, '$replace($1, /x"[/]\\/+/, "") / 2 '));
    expect(parseExpression(`{ ${replaced.join(', ')} }`).ok).toBe(true);
  });

  it.each([
    ['texts', '"\\'],
    ['other texts', "'\\"],
    ['names', '`"'],
    ['comments', '/*'],
    ['patterns', '/\\/'],
    ['escapes in a pattern', '\\/'],
  ])('takes little time where %s do not end', (_, piece) => {
    const cpuMs = cpuMsOf(() => {
      parseExpression(`a ~> /b${piece.repeat(60_000 / piece.length)}${'?:'.repeat(20)}`);
      parseExpression(`${piece.repeat(60_000 / piece.length)}${'?:'.repeat(20)}`);
    });
    expect(cpuMs).toBeLessThan(500);
  });
});
