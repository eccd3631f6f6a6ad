import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { caseFigure } from '../../../test/support/security/figure.ts';
import {
  expressionText,
  type HostileExpression,
  hostileExpressions,
  previewSucceeds,
} from '../../../test/support/security/hostile-expressions.ts';
import { createTestEvaluator } from './evaluator-fixture.ts';
import { createEvaluatorPool } from './evaluator-pool.ts';

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

describe('an expression that changes the functions of its interpreter', () => {
  const swaps = `(
    $clone := function($x){ $x };
    $keep := { "f": $lowercase };
    { "f": $base64encode } ~> |f| function($s){ ($keep ~> |f| { "last": $s } |; "stolen") } |;
    { "f": $sum } ~> |f| $count |;
    |$zoneOffset| { "_jsonata_lambda": true } |;
    { "done": true })`;
  const reads = `(
    $clone := function($x){ $x };
    $keep := { "f": $lowercase };
    $keep ~> |f| {}, ["_jsonata_function"] |;
    { "last": $keep.f.last })`;

  test('changes nothing for another org, and learns nothing of it', async () => {
    await using one = createEvaluatorPool({ size: 1 });
    const [ours, theirs] = [one.forOrg('org_ours'), one.forOrg('org_theirs')];
    const ask = (of: typeof ours, expression: string, input: Readonly<Record<string, unknown>>) =>
      of.evaluate({ expression, input, now: new Date(0) });
    const theirWork = async () => [
      await ask(theirs, '$base64encode($replace(secret, /\\s/, ""))', { secret: 'their secret' }),
      await ask(theirs, '$sum($map(list, function($n){ $n }))', { list: [100, 250] }),
      await ask(theirs, '[0, $zoneOffset(0, "Asia/Tokyo")][1]', {}),
    ];
    const before = await theirWork();
    expect(before.slice(0, 2)).toEqual([Buffer.from('theirsecret').toString('base64'), 350]);
    expect(await ask(ours, swaps, {})).toEqual({ done: true });
    expect(await theirWork()).toEqual(before);
    expect(JSON.stringify(await ask(ours, reads, {}))).not.toContain('theirsecret');
  });
});
