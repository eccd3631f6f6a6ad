/**
 * The tests inside a spec: each is one run of a resource by the real engine, with a clock that stands still and an API
 * that is made of mocks. Nothing leaves the process and nothing is stored.
 */

import type { Issue } from '../errors.ts';
import type { Evaluator } from '../expressions/evaluation.ts';
import { cutText } from '../json/cut-text.ts';
import { findResource } from '../spec/connection/find-resource.ts';
import type { ConnectorSpec } from '../spec/schema/spec-schema.ts';
import type { SpecTest } from '../spec/schema/test-schema.ts';
import { checkRun, type Mismatch } from './check-run.ts';
import { createMemoryLookups } from './memory-lookups.ts';
import { createMockApi } from './mock-api.ts';
import { prepareTest } from './prepare-test.ts';
import { runResource } from './test-run.ts';

interface SpecTestOptions {
  readonly evaluator: Evaluator;
  /** Milliseconds after which a test is ended; 5000 unless given. */
  readonly testMsMax?: number;
  /** Milliseconds for all tests of a spec: none begins that could end later; 30000 unless given. */
  readonly allMsMax?: number;
}

/** As many as are reported of a spec at once. */
const issuesMax = 100;
/** Characters of a message. */
const messageLengthMax = 500;

/** Runs the tests of a valid spec one after the other: an issue for all that does not hold; empty when they pass. */
export async function runSpecTests(spec: ConnectorSpec, options: SpecTestOptions): Promise<readonly Issue[]> {
  const { evaluator, testMsMax = 5_000, allMsMax = 30_000 } = options;
  const lastBegin = performance.now() + allMsMax - testMsMax;
  const issues: Issue[] = [];
  for (const [index, test] of spec.tests.entries()) {
    const mismatches =
      performance.now() > lastBegin
        ? [notRun(allMsMax)]
        : ((await withinTime(testMsMax, (signal) => runTest(spec, test, { evaluator, signal }))) ?? [
            tooLong(testMsMax),
          ]);
    for (const { at, message } of mismatches) {
      const path = ['tests', index, ...(at === '' ? [] : [at])].join('.');
      issues.push({ code: 'schema', path, message: cutText(`test "${test.name}": ${message}`, messageLengthMax) });
    }
  }
  return issues.slice(0, issuesMax);
}

const notRun = (ms: number): Mismatch => ({
  at: '',
  message: `did not run: the limit of ${ms / 1000} s for all tests of a spec was reached`,
});

const tooLong = (ms: number): Mismatch => ({ at: '', message: `did not end within ${ms / 1000} s` });

/** Null when the time is over. What is under way then hears of it by its signal. */
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

/** What does not hold, below the test. */
async function runTest(
  spec: ConnectorSpec,
  test: SpecTest,
  { evaluator, signal }: { readonly evaluator: Evaluator; readonly signal: AbortSignal },
): Promise<readonly Mismatch[]> {
  const resource = findResource(spec, test.resource);
  const prepared = prepareTest(spec, test, resource);
  if (!prepared.ok) return prepared.mismatches;
  const { params, secrets, start, expected } = prepared;
  const now = new Date(test.now);
  const api = createMockApi(test.mocks, now);
  const lookups = createMemoryLookups();
  const context = { spec, params, secrets, now, evaluator: endedBy(evaluator, signal), api, lookups, signal };
  const run = await runResource(context, resource, start);
  if (api.noResponse !== null) return [noResponse(api.noResponse)];
  return checkRun(expected, { run, requests: api.requests }).map(({ at, message }) => ({
    at: `expect.${at}`,
    message,
  }));
}

const noResponse = (asked: string): Mismatch => ({ at: 'mocks', message: `no mock matches ${asked}: add one for it` });

/** An evaluator for one test, which begins nothing once the test has ended. */
const endedBy = (evaluator: Evaluator, signal: AbortSignal): Evaluator => ({
  ...evaluator,
  transform: async (task) => await evaluator.transform({ ...task, signal }),
  evaluate: async (task) => {
    signal.throwIfAborted();
    return await evaluator.evaluate(task);
  },
});
