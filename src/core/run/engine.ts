/**
 * The engine of a run: reads the pages of a resource, takes each through the pipeline, and passes it on in order, ready
 * for delivery. It knows no database, no Temporal and no clock of its own: the caller provides stores and clients. The
 * caller also decides where a run starts and tracks what was delivered.
 */

import { digestOf } from '../crypto/digest.ts';
import type { Evaluator } from '../expressions/evaluation.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import type { Tombstone } from '../model/batch.ts';
import type { PageOutcome } from '../model/page-outcome.ts';
import { countedNotes, type RunNote, sumOfNotes } from '../model/run-notes.ts';
import { type RunPosition, runStart } from '../model/run-position.ts';
import type { ReadyPage } from '../pipeline/batch.ts';
import type { KnownRecords } from '../pipeline/known-records.ts';
import { createPipeline, type Pipeline } from '../pipeline/process-page.ts';
import type { Masking } from '../pipeline/quarantine-entry.ts';
import { createEnrich } from '../source/lookups/enrich.ts';
import { type LoadedLookup, loadLookups } from '../source/lookups/load-lookups.ts';
import type { LookupStore } from '../source/lookups/lookup-store.ts';
import type { Source } from '../source/source.ts';
import { findResource } from '../spec/connection/find-resource.ts';
import { lookupsInUse } from '../spec/connection/lookups-in-use.ts';
import { shapeEach, shapeValues, storedShapeOf } from '../spec/connection/shape-values.ts';
import { storedFieldsOf } from '../spec/connection/stored-fields.ts';
import type { ConnectorSpec, Resource } from '../spec/schema/spec-schema.ts';
import { createOrderedQueue } from './ordered-queue.ts';
import { readRun } from './read-run.ts';
import type { OpenResource, RunReading } from './reading.ts';
import type { RunPage } from './run-page.ts';
import type { RunStore } from './run-store.ts';

/** Dependencies and settings of the engine of one run. */
export interface EngineOptions extends Masking {
  readonly runId: string;
  readonly startedAt: Date;
  readonly spec: ConnectorSpec;
  readonly resource: Resource;
  /** The params with defaults filled in. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Delivers unchanged records too (a forced backfill, a rewind). */
  readonly redeliver: boolean;
  /** Lifts the brake (a forced backfill). */
  readonly force: boolean;
  /** Opens the resource of the run, or a parent of it, and sends nothing; the engine loads its tables. */
  readonly openSource: (resource: Resource) => Promise<Omit<Source, 'watermark'>>;
  readonly store: RunStore;
  readonly lookupStore: LookupStore;
  readonly known: KnownRecords;
  readonly evaluator: Evaluator;
  /** Maximum bytes of a record's JSON, 1 MiB by default. */
  readonly recordBytesMax?: number;
  readonly onLoaded?: (loaded: LoadedLookup) => void;
}

/** Receives the pages of a run. */
export interface PageSink {
  /** Takes the next page, in order; the engine stops reading while it waits. */
  add(page: ReadyPage): Promise<void>;
  /** Resolves when everything added so far is delivered and recorded. */
  drained(): Promise<void>;
}

interface EngineRead {
  /** `null` at the beginning of the run. */
  readonly position: RunPosition | null;
  /** Last page that an earlier read passed on, or 0. */
  readonly pageNo: number;
  readonly sink: PageSink;
  readonly signal: AbortSignal;
  readonly lookAhead: number;
  readonly pagesAtOnce: number;
  /** Whether to stop requesting pages; called before each request. */
  readonly enough: () => boolean;
  readonly wait?: (ms: number) => Promise<void>;
  /** Selects the part of a page to process, all of it by default. */
  readonly part?: (page: RunPage) => RunPage;
  /** Called with each page before it is processed; returns `false` to stop after it. */
  readonly onRead: (page: RunPage) => boolean;
  /** If true, pages in progress at the end are dropped; otherwise the read waits for their delivery. */
  readonly isCanceled?: () => boolean;
  readonly onNotes?: (pageNo: number, notes: readonly RunNote[]) => void;
}

/** The engine of one run. */
export interface Engine {
  /**
   * Reads until the run is complete or told to stop, and delivers the pages read before an error. Throws `AppError` and
   * errors of the HTTP client.
   */
  read(options: EngineRead): Promise<void>;
}

/** Creates the engine of a run and sends nothing yet. */
export function createEngine(options: EngineOptions): Engine {
  return {
    async read({ position, sink, isCanceled = () => false, part = whole, onRead, ...how }) {
      const { reading, pipeline } = await open(options, how.signal);
      const queue = openQueue(sink, how);
      const delivered = async () => {
        try {
          await queue.drained();
        } finally {
          await sink.drained();
        }
      };
      const { signal, lookAhead, enough, wait } = how;
      const readOptions = { signal, lookAhead, enough, delivered, ...(wait && { wait }) };
      try {
        for await (const read of readRun(reading, position ?? runStart, readOptions)) {
          const page = part(read);
          const goesOn = onRead(page);
          const outcome = pipeline.select(page).then((selection) => pipeline.shape(selection));
          await queue.add(page, withTombstones(outcome, page.tombstones));
          if (!goesOn) break;
        }
      } finally {
        if (!isCanceled()) await delivered();
      }
    },
  };
}

const whole = (page: RunPage): RunPage => page;

/** See `Source.shapedBy`. */
function shapedBy(
  { spec, params }: Pick<EngineOptions, 'spec' | 'params'>,
  { key, changeDetection }: Resource,
  lookups: Readonly<Record<string, unknown>>,
): string {
  const tables = changeDetection.lookups.map((name) => digestOf(canonicalJson(lookups[name])));
  return [shapeValues(spec, key, params), ...tables].filter((text) => text !== '').join('\n');
}

async function open(
  options: EngineOptions,
  signal: AbortSignal,
): Promise<{ readonly reading: RunReading; readonly pipeline: Pipeline }> {
  const { runId, startedAt, spec, resource, params, redeliver, force, store, lookupStore, known } = options;
  const { evaluator, redact, seal, recordBytesMax, onLoaded = () => undefined } = options;
  const openResource = async (opened: Resource): Promise<OpenResource> => {
    const source = await options.openSource(opened);
    const used = lookupsInUse(spec, opened.key);
    const lookups = await loadLookups(source, used, { store: lookupStore, signal, onLoaded });
    const shapes = { shapedBy: shapedBy(options, opened, lookups), shapedByEach: shapeEach(spec, opened.key) };
    return { resource: opened, source: { ...source, lookups, ...shapes } };
  };
  const { source } = await openResource(resource);
  const reading: RunReading = {
    resource,
    source,
    store,
    lookupStore,
    force,
    shapeOf: storedShapeOf(spec, resource.key, { lookups: source.lookups, redact }),
    findResource: (resourceKey) => findResource(spec, resourceKey),
    openParent: (resourceKey) => openResource(findResource(spec, resourceKey)),
  };
  const pipeline = createPipeline({
    resource,
    params,
    lookups: source.lookups,
    runId,
    startedAt,
    known,
    storedFields: storedFieldsOf(spec, resource.key),
    shapeValues: shapeValues(spec, resource.key, params),
    shapeEach: shapeEach(spec, resource.key),
    enrich: createEnrich(source, resource.enrich, { store: lookupStore, signal }),
    redeliver,
    evaluator,
    redact,
    seal,
    ...(recordBytesMax === undefined ? {} : { recordBytesMax }),
  });
  return { reading, pipeline };
}

function openQueue(
  sink: PageSink,
  { pageNo: before, pagesAtOnce, onNotes }: Pick<EngineRead, 'pageNo' | 'pagesAtOnce' | 'onNotes'>,
) {
  let pageNo = before;
  return createOrderedQueue(pagesAtOnce, async (page, outcome) => {
    pageNo += 1;
    if (page.notes.length > 0) onNotes?.(pageNo, page.notes);
    const { records: _records, retries: _retries, tombstones: _tombstones, notes: ofPage, ...place } = page;
    const notes = sumOfNotes([countedNotes([...ofPage, ...outcome.gaps]), outcome.notes]);
    const incomplete = place.incomplete || outcome.gaps.length > 0;
    await sink.add({ ...place, ...outcome, notes, incomplete, pageNo });
  });
}

async function withTombstones(shaped: Promise<PageOutcome>, tombstones: readonly Tombstone[]): Promise<PageOutcome> {
  const page = await shaped;
  const missed = tombstones.map((tombstone) => ({ kind: 'delete', tombstone, flagged: false }) as const);
  return { ...page, outcomes: [...page.outcomes, ...missed] };
}
