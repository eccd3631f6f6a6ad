import { describe, expect, it } from 'vitest';
import { documentedExpressions } from '../../../../test/support/expressions/documented-expressions.ts';
import {
  agree,
  type Case,
  type EngineOutcome,
  interpret,
  runCompiled,
} from '../../../../test/support/expressions/expression-engines.ts';
import {
  combinedExpressions,
  expressionsNotCompiled,
  recordsByHand,
} from '../../../../test/support/expressions/expressions-by-hand.ts';
import {
  chanceOf,
  generateExpression,
  generateRecord,
} from '../../../../test/support/expressions/generated-expressions.ts';
import { compile } from './compile.ts';

/** All cases on which the engines differ, and how often the compiled form had to leave a value to JSONata. */
async function compare(cases: readonly Case[]) {
  const differences: {
    readonly case: Case;
    readonly compiled: EngineOutcome | null;
    readonly interpreted: EngineOutcome;
  }[] = [];
  let left = 0;
  for (const each of cases) {
    const compiled = runCompiled(each);
    const interpreted = await interpret(each);
    if (compiled === null || !agree(each, compiled, interpreted))
      differences.push({ case: each, compiled, interpreted });
    if (compiled?.kind === 'left' && interpreted.kind === 'value') left += 1;
  }
  return { differences, left };
}

const bindings = {
  lookups: { t: { a: 'table', x: [1] } },
  params: { p: 'given' },
  each: { e: null },
  run: { id: 'r' },
};

describe('a compiled expression gives what JSONata gives', () => {
  it.each(slices(documentedExpressions, 50))('for $first and others that are documented', async ({ expressions }) => {
    expect((await compare(casesOf(expressions, recordsByHand))).differences).toEqual([]);
  });

  it.each(slices(combinedExpressions, 500))('for $first and other combinations', async ({ expressions }) => {
    const records = [{ a: 'b' }, { a: [1, 'b'] }, 7];
    expect((await compare(casesOf(expressions, records))).differences).toEqual([]);
  });

  it('for tables of the record itself, and for nulls that count as missing', async () => {
    const expressions = documentedExpressions.filter((expression) => /lookups|\$t\b|^a\b/.test(expression));
    const variants = [
      { own: { t: { a: 'own' } }, nulls: 'keep' },
      { own: { t: null, u: 1 }, nulls: 'missing' },
    ] as const;
    const cases = expressions.flatMap((expression) =>
      variants.flatMap((variant) => recordsByHand.map((record) => ({ ...variant, bindings, expression, record }))),
    );
    expect((await compare(cases)).differences).toEqual([]);
  });

  const seeds = Array.from({ length: 20 }, (_unused, n) => (n + 1) * 10_000);

  it.each(seeds)('for 26 generated expressions over 50 records each, seed %d', async (seed) => {
    const cases = generateCases(seed, { expressions: 26, records: 50 });
    const { differences, left } = await compare(cases);
    expect(differences).toEqual([]);
    expect(left / cases.length).toBeLessThan(0.05);
  });
});

interface Slice {
  readonly first: string;
  readonly expressions: readonly string[];
}

function slices(expressions: readonly string[], size: number): readonly Slice[] {
  const starts = Array.from({ length: Math.ceil(expressions.length / size) }, (_unused, n) => n * size);
  return starts.map((start) => ({
    first: expressions[start] ?? '',
    expressions: expressions.slice(start, start + size),
  }));
}

const casesOf = (expressions: readonly string[], records: readonly unknown[]): readonly Case[] =>
  expressions.flatMap((expression) =>
    records.map((record) => ({ bindings, own: null, nulls: 'keep', expression, record })),
  );

/** Compiled expressions only: {@link generateExpression} makes a few others. */
function generateCases(
  seed: number,
  count: { readonly expressions: number; readonly records: number },
): readonly Case[] {
  const chance = chanceOf(seed);
  const expressions: string[] = [];
  while (expressions.length < count.expressions) {
    const expression = generateExpression(chance, 1 + Math.floor(chance() * 3));
    if (compile(expression) !== null) expressions.push(expression);
  }
  return expressions.flatMap((expression) =>
    Array.from({ length: count.records }, () => ({
      expression,
      record: generateRecord(chance),
      bindings: {
        params: { p: generateRecord(chance) },
        each: generateRecord(chance),
        run: { id: 'r' },
        lookups: { t: generateRecord(chance), plan: generateRecord(chance) },
      },
      own: chance() < 0.3 ? { plan: generateRecord(chance) } : null,
      nulls: chance() < 0.2 ? ('missing' as const) : ('keep' as const),
    })),
  );
}

describe('what is compiled', () => {
  it('are all expressions that were chosen for it, more than 500', () => {
    const chosen = [...documentedExpressions, ...combinedExpressions];
    expect(chosen.filter((expression) => compile(expression) === null)).toEqual([]);
    expect(new Set(chosen).size).toBeGreaterThan(500);
  });

  it.each(expressionsNotCompiled)('is not %s', (expression) => {
    expect(compile(expression)).toBeNull();
  });
});
