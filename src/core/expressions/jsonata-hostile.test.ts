import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, expect, test } from 'vitest';
import { createEvaluatorPool } from './evaluator-pool.ts';

/** One hostile expression and what a preview of it must answer. */
interface Vector {
  readonly id: string;
  readonly expression?: string;
  readonly expressionGen?: { readonly parts: readonly (readonly [text: string, times: number])[] };
  readonly record?: unknown;
  readonly preview: string;
}

const vectors: readonly Vector[] = JSON.parse(
  readFileSync(new URL('../../../test/fixtures/jsonata-hostile.json', import.meta.url), 'utf8'),
);

const pool = createEvaluatorPool({ size: 2 });
afterAll(() => pool[Symbol.asyncDispose]());

const textOf = ({ expression, expressionGen }: Vector): string =>
  expression ?? expressionGen?.parts.map(([text, times]) => text.repeat(times)).join('') ?? '';

/** A preview takes objects only, so "400 (not an object) or 200 if scalars are allowed" is a refusal. */
const expected = (preview: string): boolean | 'either' => {
  if (preview.startsWith('200 or') || preview.startsWith('200 with')) return 'either';
  return preview.startsWith('200');
};

const evaluate = (expression: string, record: unknown) =>
  pool.transform({
    expression,
    records: [record],
    bindings: { lookups: {}, params: {}, each: {} },
    now: new Date(),
    nulls: 'keep',
    timeoutMs: 2_000,
  });

test.each(vectors)(
  '$id is contained and answered within 3 s',
  async (vector) => {
    const delay = monitorEventLoopDelay({ resolution: 5 });
    const heapBefore = process.memoryUsage().rss;
    delay.enable();
    const started = performance.now();
    const [result] = await evaluate(textOf(vector), vector.record ?? {});
    const took = performance.now() - started;
    delay.disable();

    expect(took).toBeLessThan(3_000);
    expect(delay.max / 1e6).toBeLessThan(200);
    expect(process.memoryUsage().rss - heapBefore).toBeLessThan(64 * 1024 * 1024);
    const expectation = expected(vector.preview);
    expect(expectation === 'either' || result?.ok === expectation).toBe(true);
    expect(result?.ok === false ? result.failure.message.length : 0).toBeLessThanOrEqual(500);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
    expect(await evaluate('{ "alive": true }', {})).toEqual([{ ok: true, value: { alive: true } }]);
  },
  10_000,
);
