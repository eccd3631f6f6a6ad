/**
 * Tests inside a spec. Each is one run of a resource by the real engine, with a fixed clock and a mocked API. Nothing
 * leaves the process and nothing is stored.
 */

import { type Issue, schemaIssue } from '../errors.ts';
import type { Evaluator } from '../expressions/evaluation.ts';
import { cutText } from '../json/cut-text.ts';
import type { ConnectorSpec } from '../spec/schema/spec-schema.ts';
import { testMsMax as oneMsMax, type SpecTest, testsMsMax } from '../spec/schema/test-schema.ts';
import type { Mismatch } from './check-run.ts';
import { failedBy, runTest, type TestVerdict } from './play-test.ts';

interface SpecTestOptions {
  readonly evaluator: Evaluator;
  /** Milliseconds until a test is aborted; {@link oneMsMax} by default. */
  readonly testMsMax?: number;
  /** Milliseconds for all tests; none starts that could end later. {@link testsMsMax} by default. */
  readonly allMsMax?: number;
}

/** Maximum issues of all tests: as many as a check of a spec reports. */
const issuesMax = 100;
const messageLengthMax = 500;

interface SpecTestResult extends TestVerdict {
  readonly test: SpecTest;
  readonly ms: number;
}

/** Runs the tests of a valid spec in order, one at a time. */
export async function* eachSpecTest(
  spec: ConnectorSpec,
  options: SpecTestOptions,
): AsyncGenerator<SpecTestResult, void, undefined> {
  const { evaluator, testMsMax = oneMsMax, allMsMax = testsMsMax } = options;
  const lastBegin = performance.now() + allMsMax - testMsMax;
  for (const test of spec.tests) {
    const begin = performance.now();
    const verdict =
      begin > lastBegin
        ? failedBy([notRun(allMsMax)])
        : ((await withinTime(testMsMax, (signal) => runTest(spec, test, { evaluator, signal }))) ??
          failedBy([tooLong(testMsMax)]));
    yield { test, ...verdict, ms: performance.now() - begin };
  }
}

export async function runSpecTests(spec: ConnectorSpec, options: SpecTestOptions): Promise<readonly Issue[]> {
  const issues: Issue[] = [];
  let index = 0;
  for await (const { test, mismatches } of eachSpecTest(spec, options)) {
    for (const { at, message } of mismatches) {
      const path = ['tests', index, ...(at === '' ? [] : [at])].join('.');
      issues.push(schemaIssue(path, cutText(`test "${test.name}": ${message}`, messageLengthMax)));
    }
    index += 1;
  }
  return issues.slice(0, issuesMax);
}

const notRun = (ms: number): Mismatch => ({
  at: '',
  message: `did not run: the limit of ${ms / 1000} s for all tests of a spec was reached`,
});

const tooLong = (ms: number): Mismatch => ({ at: '', message: `did not end within ${ms / 1000} s` });

/** `null` when the time is over; the work is then aborted by its signal. */
async function withinTime<Result>(ms: number, work: (signal: AbortSignal) => Promise<Result>): Promise<Result | null> {
  const signal = AbortSignal.timeout(ms);
  const over = Promise.withResolvers<null>();
  signal.addEventListener('abort', () => over.resolve(null), { once: true });
  const result = work(signal).catch((error: unknown) => {
    if (signal.aborted) return null;
    throw error;
  });
  return await Promise.race([result, over.promise]);
}
