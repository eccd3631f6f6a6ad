import { AppError } from '../errors.ts';
import type { PageRead } from '../source/read-pages.ts';
import { partitionAt } from './partition-at.ts';
import type { Partition, PartitionReads } from './partition-reads.ts';
import { readDeletedList } from './read-deleted-list.ts';
import type { RunReading, RunReadOptions, Stage } from './read-run.ts';
import type { RunNote, RunPage } from './run-page.ts';
import type { PartitionPosition, RunPosition } from './run-position.ts';
import { sweepMissing } from './sweep.ts';

/** How a partition is read. */
export interface PartitionOptions extends RunReadOptions {
  readonly reads: PartitionReads;
}

/** One partition from `position` on: its records, the list of its deleted ones, what is missing from it. */
export async function* readPartition(run: RunReading, position: PartitionPosition, options: PartitionOptions): Stage {
  if (position.step === 'read') return yield* readRecords(run, position, options);
  const partition = await partitionAt(run, position.no);
  const next = nextPosition(run, position);
  return position.step === 'listed'
    ? yield* readDeletedList(run, { position, partition, next }, options)
    : yield* sweepMissing(run, { at: position, partition: partition.key, next }, options);
}

interface ReadTo {
  readonly at: PartitionPosition;
  readonly partition: Partition;
  /** Where the run goes on after the page. */
  readonly next: RunPosition | null;
}

async function* readRecords(run: RunReading, position: PartitionPosition, { reads }: PartitionOptions): Stage {
  const { partition, stored, watermarkBefore, pages } = await reads.take(position);
  let at: PartitionPosition = { ...position, watermarkBefore };
  for await (const page of pages) {
    at = { ...at, validators: page.validators ?? (page.notModified ? stored.validators : at.validators) };
    at = { ...at, gaps: at.gaps || page.notModified || page.recordsMissing || page.skipped !== null };
    const next = page.positionAfter === null ? completed(run, at, page) : { ...at, read: page.positionAfter };
    // A backfill reads up to the watermark only: what is new of changed parents is left to the next sync.
    const listedAt = run.source.backfill === null ? at.listedAt : null;
    yield toRunPage(page, { at: { ...at, listedAt }, partition, next });
    if (page.positionAfter === null) return next;
    at = { ...at, read: page.positionAfter };
  }
  return undefined;
}

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
