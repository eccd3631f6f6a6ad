import { expect, test } from 'vitest';
import { withCompiledExpressions } from '../../expressions/compiled-evaluator.ts';
import type { Evaluator } from '../../expressions/evaluation.ts';
import { createTestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { createEvaluatorPool } from '../../expressions/evaluator-pool.ts';
import { createEvaluate } from './evaluate.ts';

const now = new Date('2026-01-01T00:00:00.000Z');
const roots = { body: { data: [{ id: 1 }], text: 'x'.repeat(1000), status: 'ok' }, status: 200, params: {} };

const expressions = [
  ['$exists(data) and $exists(body.data)', true],
  ['$count($keys($)) = 5 and status = 200', true],
  ['body.status = "ok" and $contains(text, /^x+$/)', true],
  ['$contains(text, /y/)', false],
] as const;

test.each(expressions)(
  'an expression sees the fields of the body, which travels once: %s',
  async (expression, value) => {
    await using pool = createTestEvaluator({ size: 1 });
    const lengths: number[] = [];
    const evaluator: Evaluator = {
      ...pool,
      evaluate: (task) => {
        lengths.push(JSON.stringify(task.input).length);
        return pool.evaluate(task);
      },
    };
    expect(await createEvaluate(evaluator, now)(expression, roots, { seesBodyFields: true })).toBe(value);
    expect(lengths).toEqual([expect.any(Number)]);
    expect(lengths[0]).toBeLessThan(1500);
  },
);

test.each(expressions)('a compiled expression sees them, too: %s', async (expression, value) => {
  await using pool = withCompiledExpressions(createEvaluatorPool({ size: 1 }));
  const evaluate = createEvaluate(pool.forOrg('org'), now);
  expect(await evaluate(expression, roots, { seesBodyFields: true })).toBe(value);
});
