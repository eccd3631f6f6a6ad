/**
 * Runs customers' JSONata outside the processes that hold connections and keys. JSONata's own limits end a loop, but
 * not a regular expression that backtracks forever, a 500 MB string or a result that never settles. Only another
 * process can be ended from outside. The pool does not use tinypool, which pipes a dying child's heap report into our
 * log stream and wraps batches of JSON text in JSON again. It also cannot tell how a child died, and does not know
 * which tables a child already holds.
 *
 * If a batch ends its child, its records run again one by one: only a record that ends a child again has failed. One
 * death alone proves nothing: on an overloaded machine a child may get no CPU for two seconds.
 */

import { availableParallelism } from 'node:os';
import { AppError } from '../errors.ts';
import { isSurelyLongerThan } from '../json/json-length.ts';
import { mapWithPauses } from '../work/map-with-pauses.ts';
import { cutBatches } from './batches.ts';
import { createBindingsText } from './bindings-text.ts';
import { type ChildCounts, type ChildPool, createChildPool } from './child-pool.ts';
import { type ChildResponse, evaluatorMemoryMb } from './contained-child.ts';
import { CostlyExpressionError } from './costly-expression.ts';
import type { Bindings, Evaluated, EvaluationFailure, Evaluator } from './evaluation.ts';

/** Disposing ends the children. */
export interface EvaluatorPool extends AsyncDisposable {
  /** The org's jobs queue one after another and take turns with the jobs of other orgs. */
  forOrg(orgId: string): Evaluator;
  counts(): ChildCounts;
}

/** Longest expression, in UTF-16 units (security design: 64 KB). */
const expressionLengthMax = 65_536;

/**
 * One org runs at most one job per core at once (two on a single core), so that one hostile job does not block the
 * next. One more child is left for other orgs.
 */
export function createEvaluatorPool(options: { readonly size?: number } = {}): EvaluatorPool {
  const pool = createChildPool({ size: options.size ?? Math.max(2, availableParallelism()) + 1 });
  const bindingsText = createBindingsText();
  return {
    forOrg: (orgId) => evaluatorOf({ pool, bindingsText, orgId }),
    counts: () => pool.counts(),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

interface OrgShare {
  readonly pool: ChildPool;
  readonly bindingsText: (bindings: Bindings) => string;
  readonly orgId: string;
}

function evaluatorOf({ pool, bindingsText, orgId }: OrgShare): Evaluator {
  return {
    transform: async (task) => {
      if (task.expression.length > expressionLengthMax) return task.records.map(() => expressionTooLong);
      const { expression, nulls, timeoutMs, recordLookups = null } = task;
      const paired = recordLookups !== null;
      const head = JSON.stringify({ kind: 'transform', orgId, expression, nulls, nowMs: task.now.getTime(), paired });
      const page: Page = {
        pool,
        orgId,
        head,
        bindings: bindingsText(task.bindings),
        timeoutMs: timeoutMs ?? clockMs,
        secondChance: timeoutMs === undefined,
        deaths: { count: 0 },
        results: { charsLeft: resultsCharsMin },
        signal: task.signal,
      };
      const inputs = recordLookups ? task.records.map((record, n) => [record, recordLookups[n] ?? null]) : task.records;
      const batches = cutBatches(await mapWithPauses(inputs, inputText, { charsLeft: inputsLengthMax }));
      for (const text of batches.flat()) page.results.charsLeft += growthMax * text.length;
      return (await Promise.all(batches.map((texts) => transformBatch(page, texts)))).flat();
    },
    evaluate: async ({ expression, input, now, seesBodyFields }) => {
      if (expression.length > expressionLengthMax) throw rejection(expressionTooLong.failure);
      const head = JSON.stringify({
        kind: 'evaluate',
        orgId,
        expression,
        nulls: 'keep',
        nowMs: now.getTime(),
        seesBodyFields,
      });
      if (isSurelyLongerThan(input, inputLengthMax)) throw inputTooLong();
      const payload = JSON.stringify(input) ?? 'null';
      if (payload.length > inputLengthMax) throw inputTooLong();
      const job = { orgId, head, bindings: null, payload, timeoutMs: clockMs };
      const first = await pool.run({ ...job, suspect: false });
      const response = first.ok ? first : await pool.run({ ...job, suspect: true });
      if (!response.ok) throw rejection(deathFailure(response.reason), CostlyExpressionError);
      const result = readResult(JSON.parse(response.line));
      if (!result.ok) throw rejection(result.failure);
      return result.value;
    },
  };
}

/** Characters of the records of one page as JSON, lookups included: many records may have the same large value. */
const inputsLengthMax = 128_000_000;

function inputText(input: unknown, page: { charsLeft: number }): string {
  const text = JSON.stringify(input) ?? 'null';
  page.charsLeft -= text.length;
  if (page.charsLeft >= 0) return text;
  throw new AppError(
    'spec_invalid',
    `The records of one page have more than ${inputsLengthMax / 1_000_000} MB with what was looked up for them. Keep fewer fields of each lookup with value, or request smaller pages.`,
  );
}

/** A slice is 500 ms of records plus one that JSONata's own clock ends after 1 s (evaluator.ts). */
const clockMs = 2_000;

/** Children that one call may lose; above that the expression is the cause. Keeps one page below 40 s. */
const deathsMax = 15;

/**
 * JSON characters of the results of one call, besides {@link growthMax} times those of its records. Each result has its
 * own limit, but a page may have a million records.
 */
const resultsCharsMin = 64_000_000;
const growthMax = 4;

interface Page {
  readonly pool: ChildPool;
  readonly orgId: string;
  readonly head: string;
  readonly bindings: string;
  readonly timeoutMs: number;
  /** Whether a record that was alone when its child died is retried once. */
  readonly secondChance: boolean;
  readonly deaths: { count: number };
  readonly results: { charsLeft: number };
  readonly signal: AbortSignal | undefined;
}

/** A child returns as many records as it finishes in its slice; the rest queues again, after other jobs of its org. */
async function transformBatch(page: Page, texts: readonly string[]): Promise<Evaluated[]> {
  const results: Evaluated[] = [];
  let suspect = false;
  while (results.length < texts.length) {
    page.signal?.throwIfAborted();
    if (page.results.charsLeft < 0) return results;
    const slice = texts.slice(results.length, suspect ? results.length + 1 : undefined);
    const response = await page.pool.run({ ...page, payload: `[${slice.join(',')}]`, suspect });
    if (response.ok) {
      countResults(page, response.line.length);
      results.push(...readResults(response.line));
    } else {
      countDeath(page);
      const blamed = slice.length === 1 && (suspect || !page.secondChance);
      if (blamed) results.push({ ok: false, failure: deathFailure(response.reason) });
      suspect = true;
    }
  }
  return results;
}

function countDeath(page: Page): void {
  page.deaths.count += 1;
  if (page.deaths.count <= deathsMax) return;
  throw new AppError(
    'spec_invalid',
    `The expression ran out of time or memory ${page.deaths.count} times on one page. Simplify it: the cause is most often a regular expression or a loop.`,
  );
}

function countResults({ results }: Page, chars: number): void {
  results.charsLeft -= chars;
  if (results.charsLeft >= 0) return;
  throw new AppError(
    'spec_invalid',
    `The expression makes more than ${resultsCharsMin / 1_000_000} MB of the records of one page. Return fewer or shorter fields, or request smaller pages.`,
  );
}

type Result =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly failure: EvaluationFailure };

function readResults(line: string): readonly Evaluated[] {
  const results: readonly unknown[] = JSON.parse(line);
  return results.map((result) => readResult(result) as Evaluated);
}

/** The child writes `{"v": value}`, `{}` for undefined, or `{"code", "message"}`. */
function readResult(result: unknown): Result {
  const { v, ...failure } = result as { readonly v?: unknown } & Partial<EvaluationFailure>;
  const { code, message } = failure;
  if (code === undefined || message === undefined) return { ok: true, value: v };
  return { ok: false, failure: { code, message } };
}

function deathFailure(reason: Extract<ChildResponse, { ok: false }>['reason']): EvaluationFailure {
  return reason === 'timeout'
    ? { code: 'timeout', message: 'The expression took too long and was stopped.' }
    : {
        code: 'memory',
        message: `The expression used more memory than it may (${evaluatorMemoryMb} MB) and was stopped.`,
      };
}

const expressionTooLong: Extract<Evaluated, { ok: false }> = {
  ok: false,
  failure: { code: 'too_large', message: `The expression is longer than ${expressionLengthMax} characters.` },
};

const rejection = (failure: Pick<EvaluationFailure, 'message'>, Failure = AppError): AppError =>
  new Failure('spec_invalid', `An expression of the spec failed: ${failure.message}`);

/** Characters of the input of one evaluation as JSON: parsed, it takes a quarter of a child's heap. */
const inputLengthMax = 16_000_000;

const inputTooLong = (): AppError =>
  rejection(
    {
      message: `Its input is larger than ${inputLengthMax / 1_000_000} MB. Name the fields that it needs, or request smaller pages.`,
    },
    CostlyExpressionError,
  );
