import { AppError } from '../errors.ts';
import { type PageRead, readPages } from '../source/read-pages.ts';
import type { Validators } from '../source/source.ts';
import { partitionAt } from './partition-at.ts';
import { readDeletedList } from './read-deleted-list.ts';
import type { RunReading, RunReadOptions, Stage } from './read-run.ts';
import type { RunNote, RunPage } from './run-page.ts';
import type { PartitionPosition, RunPosition } from './run-position.ts';
import { sweepMissing } from './sweep.ts';

/** One partition from `position` on: its records, the list of its deleted ones, what is missing from it. */
export async function* readPartition(run: RunReading, position: PartitionPosition, options: RunReadOptions): Stage {
  const partition = await partitionAt(run, position.no);
  const next = nextPosition(run, position);
  switch (position.step) {
    case 'read':
      return yield* readRecords(run, { position, partition }, options);
    case 'listed':
      return yield* readDeletedList(run, { position, partition, next }, options);
    case 'sweep':
      return yield* sweepMissing(run, { at: position, partition: partition.key, next }, options);
  }
}

/** A partition of the run. */
export interface Partition {
  /** Empty without `forEach`. */
  readonly key: string;
  readonly each: Readonly<Record<string, unknown>>;
}

interface At {
  readonly position: PartitionPosition;
  readonly partition: Partition;
}

interface ReadTo {
  readonly at: PartitionPosition;
  readonly partition: Partition;
  /** Where the run goes on after the page. */
  readonly next: RunPosition | null;
}

async function* readRecords(run: RunReading, { position, partition }: At, options: RunReadOptions): Stage {
  const { key, each } = partition;
  const stored = await run.store.partition(key);
  const watermarkBefore = position.read === null ? stored.watermark : position.watermarkBefore;
  let at: PartitionPosition = { ...position, watermarkBefore };
  const source = { ...run.source, each, watermark: watermarkBefore, validators: usable(run, stored.validators) };
  for await (const page of readPages(source, { ...options, position: position.read })) {
    at = { ...at, validators: page.validators ?? (page.notModified ? stored.validators : at.validators) };
    at = { ...at, gaps: at.gaps || page.notModified || page.recordsMissing || page.skipped !== null };
    const next = page.positionAfter === null ? completed(run, at, page) : { ...at, read: page.positionAfter };
    // A backfill reads up to the watermark only: what is new of changed parents is left to the next sync.
    const listedAt = source.backfill === null ? at.listedAt : null;
    yield toRunPage(page, { at: { ...at, listedAt }, partition, next });
    if (page.positionAfter === null) return next;
    at = { ...at, read: page.positionAfter };
  }
  return undefined;
}

/** A backfill wants the records themselves, changed or not. */
const usable = ({ source }: RunReading, validators: Validators | null): Validators | null =>
  source.backfill === null ? validators : null;

function toRunPage(page: PageRead, { at, partition, next }: ReadTo): RunPage {
  const isComplete = page.positionAfter === null && page.skipped === null;
  const notes: readonly RunNote[] = page.skipped === null ? page.notes : [...page.notes, 'partition_skipped'];
  return {
    records: page.records,
    each: partition.each,
    origin: 'fetched',
    tombstones: [],
    retried: [],
    requestKey: page.requestKey,
    positionAfter: next,
    partition: {
      partition: partition.key,
      watermark: page.watermarkAfter,
      completed: isComplete ? { listedAt: at.listedAt, validators: at.validators } : null,
    },
    incomplete: page.skipped !== null,
    completesGeneration: false,
    notes,
  };
}

/** Where the run goes on after the last page of a partition. Throws when the API has refused every partition. */
function completed(run: RunReading, at: PartitionPosition, { skipped }: PageRead): RunPosition | null {
  const totals = skipped === null ? at.totals : { ...at.totals, skipped: at.totals.skipped + 1 };
  if (skipped !== null && totals.skipped === totals.count) {
    const message = totals.count === 1 ? 'The API refused the read' : `The API refused all ${totals.count} partitions`;
    throw new AppError('source_rejected', `${message}: ${skipped}. The calls of the run show its answers.`);
  }
  return nextPosition(run, { ...at, totals: { ...totals, gaps: totals.gaps || at.gaps }, read: null });
}

/** The step after the one at `position`, of the same partition, of the next one, or of the run. */
function nextPosition(run: RunReading, position: PartitionPosition): RunPosition | null {
  const { deletes, target } = run.resource;
  const { totals, step, gaps } = position;
  const sameMode = deletes.mode === 'full_scan' ? deletes.scope : deletes.mode;
  if (step === 'read' && sameMode === 'endpoint') return { ...position, step: 'listed', read: null };
  if (step === 'read' && sameMode === 'partition' && !gaps) return { ...position, step: 'sweep', read: null };
  if (position.no + 1 < totals.count) return nextPartition(position);
  if (sameMode === 'resource' && totals.skipped === 0 && !totals.gaps) return { stage: 'sweep', totals };
  return target.mode === 'replace' ? { stage: 'switch' } : null;
}

const nextPartition = (position: PartitionPosition): PartitionPosition => ({
  ...position,
  no: position.no + 1,
  step: 'read',
  read: null,
  watermarkBefore: null,
  validators: null,
  gaps: false,
});
