/**
 * The tests inside a spec: each is one run of a resource by the real engine, with a clock that stands still and an API
 * that is made of mocks. Nothing leaves the process and nothing is stored.
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
  /** Milliseconds after which a test is ended; {@link oneMsMax} unless given. */
  readonly testMsMax?: number;
  /** Milliseconds for all tests of a spec: none begins that could end later; {@link testsMsMax} unless given. */
  readonly allMsMax?: number;
}

/** The most issues of all tests: as many as are reported of a spec at once. */
const issuesMax = 100;
/** Characters of a message. */
const messageLengthMax = 500;

/** The result of one test. */
interface SpecTestResult extends TestVerdict {
  readonly test: SpecTest;
  readonly ms: number;
}

/** Runs the tests of a valid spec one after the other, in their order. */
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

/** Runs the tests of a valid spec: an issue for all that does not hold; empty when they pass. */
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

/** Null when the time is over. What is under way is then aborted by its signal. */
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
