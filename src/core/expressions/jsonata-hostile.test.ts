import { afterAll, beforeAll, expect, test } from 'vitest';
import { caseFigure } from '../../../test/support/security/figure.ts';
import {
  expressionText,
  type HostileExpression,
  hostileExpressions,
  previewSucceeds,
} from '../../../test/support/security/hostile-expressions.ts';
import { createTestEvaluator } from './evaluator-fixture.ts';

const pool = createTestEvaluator({ size: 2 });
// The start of a child is not measured.
beforeAll(async () => void (await isAlive()));
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

/** Whether the pool evaluates a harmless record as ever. */
async function isAlive(): Promise<boolean> {
  const [response] = await evaluate('{ "alive": true }', {});
  return response?.ok === true && response.value['alive'] === true;
}

/** What is promised, and what this process, which has others to serve, may work at a stretch; ms. */
const most = { tookMs: 3_000, stretchMs: 200 } as const;

/** A response, and what it took. */
async function measured(vector: HostileExpression) {
  using stretches = watchStretches();
  const startedAt = performance.now();
  const [result] = await evaluate(expressionText(vector), vector.record ?? {});
  return { result, tookMs: performance.now() - startedAt, stretchMs: stretches.longestMs() };
}

/**
 * Measured again if it took too long: a machine that is busy with other things, or garbage of the tests before, delays one
 * try, and an expression that is not contained each.
 */
async function measuredFairly(vector: HostileExpression) {
  const first = await measured(vector);
  if (first.tookMs < most.tookMs && first.stretchMs < most.stretchMs) return first;
  // Its start is not measured.
  await isAlive();
  return await measured(vector);
}

/**
 * The longest that the processor worked for this thread between two ticks. The delay of the event loop would also count
 * that it worked for others.
 */
function watchStretches(): Disposable & { longestMs(): number } {
  let longestMs = 0;
  let last = process.threadCpuUsage();
  const tick = () => {
    const now = process.threadCpuUsage();
    longestMs = Math.max(longestMs, (now.user + now.system - last.user - last.system) / 1000);
    last = now;
  };
  const ticks = setInterval(tick, 5);
  return {
    longestMs() {
      tick();
      return longestMs;
    },
    [Symbol.dispose]: () => clearInterval(ticks),
  };
}

test.each(hostileExpressions)(
  '$id is contained and ends within 3 s',
  async (vector) => {
    const heapBefore = process.memoryUsage().rss;
    const { result, tookMs, stretchMs } = await measuredFairly(vector);
    const isContained = tookMs < most.tookMs && (await isAlive());
    caseFigure('hostileContained', !isContained);
    expect(tookMs).toBeLessThan(most.tookMs);
    expect(stretchMs).toBeLessThan(most.stretchMs);
    expect(process.memoryUsage().rss - heapBefore).toBeLessThan(64 * 1024 * 1024);
    const expectation = previewSucceeds(vector);
    expect(expectation === 'either' || result?.ok === expectation).toBe(true);
    expect(result?.ok === false ? result.failure.message.length : 0).toBeLessThanOrEqual(500);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
    expect(isContained).toBe(true);
  },
  30_000,
);
