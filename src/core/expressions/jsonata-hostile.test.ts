import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, expect, test } from 'vitest';
import { caseFigure } from '../../../test/support/security/figure.ts';
import {
  expressionText,
  hostileExpressions,
  previewSucceeds,
} from '../../../test/support/security/hostile-expressions.ts';
import { createTestEvaluator } from './evaluator-fixture.ts';

const pool = createTestEvaluator({ size: 2 });
afterAll(() => pool[Symbol.asyncDispose]());

const evaluate = (expression: string, record: unknown) =>
  pool.transform({
    expression,
    records: [record],
    bindings: { lookups: {}, params: {}, each: {} },
    now: new Date(),
    nulls: 'keep',
    timeoutMs: 2_000,
  });

/** Whether the pool answers a harmless record as ever. */
async function isAlive(): Promise<boolean> {
  const [response] = await evaluate('{ "alive": true }', {});
  return response?.ok === true && response.value['alive'] === true;
}

test.each(hostileExpressions)(
  '$id is contained and answered within 3 s',
  async (vector) => {
    const delay = monitorEventLoopDelay({ resolution: 5 });
    const heapBefore = process.memoryUsage().rss;
    delay.enable();
    const started = performance.now();
    const [result] = await evaluate(expressionText(vector), vector.record ?? {});
    const took = performance.now() - started;
    delay.disable();

    caseFigure('hostileContained', took >= 3_000 || !(await isAlive()));
    expect(took).toBeLessThan(3_000);
    expect(delay.max / 1e6).toBeLessThan(200);
    expect(process.memoryUsage().rss - heapBefore).toBeLessThan(64 * 1024 * 1024);
    const expectation = previewSucceeds(vector);
    expect(expectation === 'either' || result?.ok === expectation).toBe(true);
    expect(result?.ok === false ? result.failure.message.length : 0).toBeLessThanOrEqual(500);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
    expect(await isAlive()).toBe(true);
  },
  10_000,
);
