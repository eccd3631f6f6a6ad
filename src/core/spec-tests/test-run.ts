/** A run of one resource with the real engine, from its first page to its last, whose every effect stays in memory. */
import { AppError } from '../errors.ts';
import { runStart } from '../model/run-position.ts';
import { assembleBatch, type ReadyPage } from '../pipeline/batch.ts';
import { createInvalidBrake } from '../pipeline/invalid-brake.ts';
import { createKnownRecords } from '../pipeline/known-records.ts';
import { createPipeline } from '../pipeline/process-page.ts';
import { countCombinations } from '../run/combinations.ts';
import { ownLists } from '../run/list-steps.ts';
import { readRun } from '../run/read-run.ts';
import type { Parent } from '../run/run-store.ts';
import { createEnrich } from '../source/lookups/enrich.ts';
import { storedFieldsOf } from '../spec/connection/stored-fields.ts';
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
    await readAll(context, resourceNamed(context, resourceKey), { ledger, store: openStore(context, ledger) });
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
  const source = await openTestSource(context, resource);
  const known = createKnownRecords(async (externalIds) => ledger.records.load(externalIds));
  const pipeline = openPipeline(context, { resource, source, known });
  const brake = createInvalidBrake(resource, { recordsIn: 0, invalid: 0 });
  const { maxRecords = Number.POSITIVE_INFINITY } = resource.limits;
  const { signal } = context;
  const reading = {
    resource,
    source,
    store,
    lookupStore: context.lookups,
    force: false,
    findResource: (key: string) => resourceNamed(context, key),
    openParent: (key: string) => openParent(context, key),
  };
  let pageNo = 0;
  let records = 0;
  for await (const page of readRun(reading, runStart, { signal, lookAhead: 0, delivered: async () => undefined })) {
    pageNo += 1;
    const selection = await pipeline.select(page);
    records += selection.recordsIn;
    const shaped = await pipeline.shape(selection);
    const missed = page.tombstones.map((tombstone) => ({ kind: 'delete', tombstone, flagged: false }) as const);
    const ready: ReadyPage = { ...page, ...shaped, outcomes: [...shaped.outcomes, ...missed], pageNo };
    brake([ready]);
    const batch = assembleBatch([ready], { resource, runId: testRunId, batchNo: pageNo, redact: unchanged });
    const receipt = batch.receiptOf([]);
    ledger.record(batch.rows, receipt);
    known.commit(receipt);
    if (records >= maxRecords) return { limited: page.positionAfter !== null };
  }
  return { limited: false };
}

async function openParent(context: TestContext, resourceKey: string) {
  const resource = resourceNamed(context, resourceKey);
  return { resource, source: await openTestSource(context, resource) };
}

function openPipeline(
  { spec, params, now, evaluator, lookups, signal }: TestContext,
  parts: Pick<Parameters<typeof createPipeline>[0], 'resource' | 'known'> & {
    readonly source: Awaited<ReturnType<typeof openTestSource>>;
  },
) {
  const { resource, source } = parts;
  return createPipeline({
    ...parts,
    params,
    lookups: source.lookups,
    runId: testRunId,
    startedAt: now,
    storedFields: storedFieldsOf(spec, resource.key),
    enrich: createEnrich(source, resource.enrich, { store: lookups, signal }),
    redeliver: false,
    evaluator,
    redact: unchanged,
  });
}

/** The values of a test stand in the spec: they are no secrets. */
const unchanged = (text: string): string => text;

/** Throws `spec_invalid` when there is none. */
export function resourceNamed({ spec }: Pick<TestContext, 'spec'>, resourceKey: string): Resource {
  const resource = spec.resources.find(({ key }) => key === resourceKey);
  if (!resource) throw new AppError('spec_invalid', `The spec has no resource "${resourceKey}"`);
  return resource;
}
