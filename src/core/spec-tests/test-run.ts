/** A run of one resource with the real engine, from its first page to its last, whose every effect stays in memory. */
import { AppError } from '../errors.ts';
import { assembleBatch } from '../pipeline/batch.ts';
import { createInvalidBrake } from '../pipeline/invalid-brake.ts';
import { createKnownRecords, type KnownRecords } from '../pipeline/known-records.ts';
import { countCombinations } from '../run/combinations.ts';
import { createEngine, type PageSink } from '../run/engine.ts';
import { ownLists } from '../run/list-steps.ts';
import type { Parent } from '../run/run-store.ts';
import { findResource } from '../spec/connection/find-resource.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { createMemoryStore } from './memory-store.ts';
import { openTestSource, testRunId } from './open-test-source.ts';
import type { TestContext } from './test-context.ts';
import { createTestLedger, type TestLedger, type TestStart } from './test-ledger.ts';

/** What a run has come to, as its row and its destination would show it. */
export interface TestRun extends ReturnType<TestLedger['totals']> {
  readonly status: 'succeeded' | 'partial' | 'failed';
  /** Null unless it failed. */
  readonly failure: AppError | null;
  readonly watermarkAfter: string | null;
}

/** Runs a resource. A failure of the run is part of the result; the reason of the test's signal is thrown. */
export async function runResource(context: TestContext, resource: Resource, start: TestStart): Promise<TestRun> {
  const ledger = createTestLedger(start);
  const store = openStore(context, ledger);
  const { limited, failure } = await readAll(context, resource, { ledger, store }).then(
    (read) => ({ ...read, failure: null }),
    (error: unknown) => {
      if (error instanceof AppError) return { limited: false, failure: error };
      throw error;
    },
  );
  const count = await countCombinations(store, ownLists(resource));
  return {
    ...ledger.totals(),
    status: failure ? 'failed' : limited || !ledger.isClean() ? 'partial' : 'succeeded',
    failure,
    watermarkAfter: ledger.watermarkAfter(count),
  };
}

type Store = ReturnType<typeof createMemoryStore>;

const openStore = (context: TestContext, ledger: TestLedger): Store =>
  createMemoryStore({ ledger, now: context.now, parentsOf: createParents(context) });

/** Stored parents are what a first run of their resource reads from the same mocks. */
function createParents(context: TestContext): (resourceKey: string) => Promise<readonly Parent[]> {
  const read = new Map<string, Promise<readonly Parent[]>>();
  const parentsOf = async (resourceKey: string): Promise<readonly Parent[]> => {
    const ledger = createTestLedger({ watermark: null, known: [] });
    await readAll(context, findResource(context.spec, resourceKey), { ledger, store: openStore(context, ledger) });
    const records = ledger.records.live(null);
    return records.flatMap(({ externalId, fields }) => (fields === null ? [] : [{ externalId, fields }]));
  };
  return (resourceKey) => {
    const parents = read.get(resourceKey) ?? parentsOf(resourceKey);
    read.set(resourceKey, parents);
    return parents;
  };
}

/** Every page is a batch of its own. Throws as reading, shaping and delivering do. */
async function readAll(
  context: TestContext,
  resource: Resource,
  { ledger, store }: { readonly ledger: TestLedger; readonly store: Store },
): Promise<{ readonly limited: boolean }> {
  const { spec, params, now, evaluator, lookups, signal } = context;
  const known = createKnownRecords(async (externalIds) => ledger.records.load(externalIds));
  const engine = createEngine({
    runId: testRunId,
    startedAt: now,
    spec,
    resource,
    params,
    force: false,
    openSource: (opened) => openTestSource(context, opened),
    store,
    lookupStore: lookups,
    known,
    evaluator,
    redact: unchanged,
  });
  const { maxRecords = Number.POSITIVE_INFINITY } = resource.limits;
  let records = 0;
  let isRead = false;
  await engine.read({
    position: null,
    pageNo: 0,
    sink: createSink(resource, { ledger, known }),
    signal,
    lookAhead: 0,
    pagesAtOnce: 1,
    enough: () => false,
    onRead: (page) => {
      records += page.records.length;
      isRead = page.positionAfter === null;
      return records < maxRecords;
    },
  });
  return { limited: !isRead };
}

function createSink(
  resource: Resource,
  { ledger, known }: { readonly ledger: TestLedger; readonly known: KnownRecords },
): PageSink {
  const brake = createInvalidBrake(resource, { recordsIn: 0, invalid: 0 });
  return {
    async add(page) {
      brake([page]);
      const batch = assembleBatch([page], { resource, runId: testRunId, batchNo: page.pageNo, redact: unchanged });
      const receipt = batch.receiptOf([]);
      ledger.record(batch.rows, receipt);
      known.commit(receipt);
    },
    drained: async () => undefined,
  };
}

/** The values of a test stand in the spec: they are no secrets. */
const unchanged = (text: string): string => text;
