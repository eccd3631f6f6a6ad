/**
 * Runs one resource with the real engine, from its first page to its last, and keeps every effect in memory. The caller
 * provides the responses: mocks for the tests inside a spec, the API for the command line.
 */
import { AppError } from '../errors.ts';
import type { Evaluator } from '../expressions/evaluation.ts';
import { assembleBatch, type ReadyPage } from '../pipeline/batch.ts';
import { createInvalidLimit } from '../pipeline/invalid-limit.ts';
import { createKnownRecords, type KnownRecords } from '../pipeline/known-records.ts';
import { countCombinations } from '../run/combinations.ts';
import { createEngine, type PageSink } from '../run/engine.ts';
import { ownLists } from '../run/list-steps.ts';
import type { RunPage } from '../run/run-page.ts';
import type { Parent } from '../run/run-store.ts';
import type { LookupStore } from '../source/lookups/lookup-store.ts';
import type { Source } from '../source/source.ts';
import { findResource } from '../spec/connection/find-resource.ts';
import type { ConnectorSpec, Resource } from '../spec/schema/spec-schema.ts';
import { createMemoryLedger, type MemoryLedger, type RunStart } from './memory-ledger.ts';
import { createMemoryStore } from './memory-store.ts';

/** Shared by all resources that one run reads. */
export interface MemoryRunContext {
  readonly runId: string;
  readonly spec: ConnectorSpec;
  /** The params with defaults filled in. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly now: Date;
  readonly evaluator: Evaluator;
  readonly lookups: LookupStore;
  /** Opens a resource for reading and sends nothing. */
  readonly openSource: (resource: Resource) => Promise<Omit<Source, 'watermark'>>;
  readonly redact: (text: string) => string;
  /**
   * Maximum records to read: the rest of a page is dropped, and a live parent has only its first page. If infinite,
   * only the limits of the resource apply.
   */
  readonly recordsMax: number;
  /** Memory limits, unlimited if absent. */
  readonly holds?: {
    /** Maximum values of the lists of `forEach`. */
    readonly values: number;
    /** Maximum characters of delivered rows as JSON. */
    readonly deliveredChars: number;
  };
  readonly wait: (ms: number) => Promise<void>;
  /** Ends the run; its reason is thrown. */
  readonly signal: AbortSignal;
}

/** The resource and starting state of a run. */
export interface MemoryRunOptions {
  readonly resource: Resource;
  readonly start: RunStart;
  /** Called with each page once it is processed: as read, and as the pipeline left it. */
  readonly onPage?: (page: RunPage, ready: ReadyPage) => void;
}

/** The outcome of a run, as its row and its destination would show it. */
export interface MemoryRun extends ReturnType<MemoryLedger['totals']> {
  readonly status: 'succeeded' | 'partial' | 'failed';
  readonly failure: AppError | null;
  readonly limited: boolean;
  readonly watermarkAfter: string | null;
}

/** Runs a resource; a failure of the run is part of the result, every other error is thrown. */
export async function runInMemory(context: MemoryRunContext, options: MemoryRunOptions): Promise<MemoryRun> {
  const { resource, start } = options;
  const ledger = createMemoryLedger(start);
  const store = openStore(context, ledger);
  const { limited, failure } = await readAll(context, options, { ledger, store }).then(
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
    limited,
    watermarkAfter: ledger.watermarkAfter(count),
  };
}

type Store = ReturnType<typeof createMemoryStore>;

const openStore = (context: MemoryRunContext, ledger: MemoryLedger): Store =>
  createMemoryStore({
    ledger,
    now: context.now,
    parentsOf: createParents(context),
    valuesMax: context.holds?.values ?? Number.POSITIVE_INFINITY,
  });

/** Stored parents are read by a first run of their resource. */
function createParents(context: MemoryRunContext): (resourceKey: string) => Promise<readonly Parent[]> {
  const read = new Map<string, Promise<readonly Parent[]>>();
  const parentsOf = async (resourceKey: string): Promise<readonly Parent[]> => {
    const start: RunStart = { watermark: null, known: [] };
    const ledger = createMemoryLedger(start);
    const resource = findResource(context.spec, resourceKey);
    await readAll(context, { resource, start }, { ledger, store: openStore(context, ledger) });
    return ledger.records
      .compared()
      .records.flatMap(({ externalId, fields }) => (fields === null ? [] : [{ externalId, fields }]));
  };
  return (resourceKey) => {
    const parents = read.get(resourceKey) ?? parentsOf(resourceKey);
    read.set(resourceKey, parents);
    return parents;
  };
}

/** Delivers every page as a batch of its own; throws the errors of reading, shaping and delivering. */
async function readAll(
  context: MemoryRunContext,
  { resource, onPage }: MemoryRunOptions,
  { ledger, store }: { readonly ledger: MemoryLedger; readonly store: Store },
): Promise<{ readonly limited: boolean }> {
  const { runId, spec, params, now, evaluator, lookups, signal, recordsMax, redact } = context;
  const known = createKnownRecords(async (externalIds) => ledger.records.load(externalIds));
  const engine = createEngine({
    runId,
    startedAt: now,
    spec,
    resource,
    params,
    redeliver: false,
    force: false,
    openSource: async (opened) => shortened(await context.openSource(opened), opened.key !== resource.key, recordsMax),
    store,
    lookupStore: lookups,
    known,
    evaluator,
    redact,
    seal: unsealed,
  });
  const max = Math.min(resource.limits.maxRecords ?? Number.POSITIVE_INFINITY, recordsMax);
  const inProgress: RunPage[] = [];
  let records = 0;
  let isCut = false;
  let isRead = false;
  const sink = createSink(context, { resource, ledger, known });
  await engine.read({
    position: null,
    pageNo: 0,
    sink: {
      async add(ready) {
        await sink.add(ready);
        const page = inProgress.shift();
        if (page) onPage?.(page, ready);
      },
      drained: () => sink.drained(),
    },
    signal,
    lookAhead: 0,
    pagesAtOnce: 1,
    enough: () => false,
    wait: context.wait,
    part: (page) => {
      const kept = firstRecords(page, recordsMax - records);
      isCut = kept !== page;
      return kept;
    },
    onRead: (page) => {
      inProgress.push(page);
      records += page.records.length;
      isRead = page.positionAfter === null && !isCut;
      return records < max;
    },
  });
  return { limited: !isRead };
}

/** Limits a live parent to its first page, in a run of few records. */
function shortened(
  source: Omit<Source, 'watermark'>,
  isParent: boolean,
  recordsMax: number,
): Omit<Source, 'watermark'> {
  if (!isParent || recordsMax === Number.POSITIVE_INFINITY) return source;
  const { size, maxPages, onRepeat } = source.resource.pagination;
  const onePage = {
    kind: 'none',
    emptyPage: 'stop',
    maxPages,
    onRepeat,
    ...(size === undefined ? {} : { size }),
  } as const;
  return { ...source, resource: { ...source.resource, pagination: onePage } };
}

/** A cut page claims nothing about its partition. */
const firstRecords = (page: RunPage, count: number): RunPage =>
  page.records.length <= count ? page : { ...page, records: page.records.slice(0, count), partition: null };

function createSink(
  { runId, redact, holds }: MemoryRunContext,
  {
    resource,
    ledger,
    known,
  }: { readonly resource: Resource; readonly ledger: MemoryLedger; readonly known: KnownRecords },
): PageSink {
  const invalidLimit = createInvalidLimit(resource, { recordsIn: 0, invalid: 0 });
  let chars = 0;
  return {
    async add(page) {
      invalidLimit([page]);
      const batch = assembleBatch([page], { resource, runId, batchNo: page.pageNo, redact, seal: unsealed });
      if (holds) {
        for (const { data } of batch.rows) chars += JSON.stringify(data).length;
        if (chars > holds.deliveredChars) throw tooManyRows(holds.deliveredChars);
      }
      const receipt = batch.receiptOf([]);
      ledger.record(batch.rows, receipt);
      known.commit(receipt);
    },
    drained: async () => undefined,
  };
}

/** No later run reads what is kept back. */
const unsealed = (): string => '';

const tooManyRows = (charsMax: number): AppError =>
  new AppError('spec_invalid', `The delivered rows have more than ${charsMax / 1_000_000} MB. Deliver less.`);
