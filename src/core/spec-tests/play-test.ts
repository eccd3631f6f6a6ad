import type { Evaluator } from '../expressions/evaluation.ts';
import { createMemoryLookups } from '../memory-run/memory-lookups.ts';
import { runInMemory } from '../memory-run/memory-run.ts';
import { findResource } from '../spec/connection/find-resource.ts';
import type { ConnectorSpec } from '../spec/schema/spec-schema.ts';
import type { SpecTest } from '../spec/schema/test-schema.ts';
import { type Checked, checkRun, type Mismatch } from './check-run.ts';
import { createMockApi, type MockApi } from './mock-api.ts';
import { openTestSource, testRunId } from './open-test-source.ts';
import { prepareTest } from './prepare-test.ts';

interface PlayOptions {
  readonly evaluator: Evaluator;
  /** Ends the test; its reason is thrown. */
  readonly signal: AbortSignal;
}

/** The run of a test, not yet checked, or why it could not run. */
export type PlayedTest =
  | ({ readonly ok: true; readonly expected: SpecTest['expect']; readonly unusedMocks: readonly number[] } & Checked)
  | { readonly ok: false; readonly mismatches: readonly Mismatch[] };

export async function playTest(spec: ConnectorSpec, test: SpecTest, options: PlayOptions): Promise<PlayedTest> {
  const resource = findResource(spec, test.resource);
  const prepared = prepareTest(spec, test, resource);
  if (!prepared.ok) return prepared;
  const { params, secrets, start, expected } = prepared;
  const now = new Date(test.now);
  const api = createMockApi(test.mocks, now);
  const context = { spec, params, secrets, now, evaluator: endedBy(options), api, signal: options.signal };
  const run = await runInMemory(
    {
      ...context,
      runId: testRunId,
      lookups: createMemoryLookups(),
      openSource: (opened) => openTestSource(context, opened),
      redact: unchanged,
      recordsMax: test.maxRecords ?? Number.POSITIVE_INFINITY,
      holds: { values: 100_000, deliveredChars: 20_000_000 },
      // Mocks respond at once.
      wait: async () => undefined,
    },
    { resource, start },
  );
  if (api.noResponse !== null) return { ok: false, mismatches: [noResponse(api.noResponse)] };
  return { ok: true, expected, run, requests: api.requests, unusedMocks: api.unused };
}

export interface TestVerdict {
  /** Unmet expectations, at dotted paths below the test; empty if it passes. */
  readonly mismatches: readonly Mismatch[];
  /** Positions of mocks that a passing test did not use, from 0. */
  readonly unusedMocks: readonly number[];
}

export async function runTest(spec: ConnectorSpec, test: SpecTest, options: PlayOptions): Promise<TestVerdict> {
  const played = await playTest(spec, test, options);
  if (!played.ok) return failedBy(played.mismatches);
  const mismatches = checkRun(played.expected, played).map(({ at, message }) => ({ at: `expect.${at}`, message }));
  return mismatches.length > 0 ? failedBy(mismatches) : { mismatches, unusedMocks: played.unusedMocks };
}

/** A failed test may have ended early, so its unused mocks say nothing. */
export const failedBy = (mismatches: readonly Mismatch[]): TestVerdict => ({ mismatches, unusedMocks: [] });

const noResponse = ({ request, mock, reason }: NonNullable<MockApi['noResponse']>): Mismatch => ({
  at: mock === null ? 'mocks' : `mocks.${mock}`,
  message: `no mock matches ${request}: ${reason}`,
});

/** An evaluator for one test that starts nothing after the test has ended. */
const endedBy = ({ evaluator, signal }: PlayOptions): Evaluator => ({
  ...evaluator,
  transform: async (task) => await evaluator.transform({ ...task, signal }),
  evaluate: async (task) => {
    signal.throwIfAborted();
    return await evaluator.evaluate(task);
  },
});

/** The values of a test are in the spec, so they are not secrets. */
const unchanged = (text: string): string => text;
