import { AppError } from '../errors.ts';
import { isWhole, withGaps } from '../model/coverage.ts';
import type { PartitionEntry } from '../model/receipt.ts';
import type { RunNote } from '../model/run-notes.ts';
import type { PartitionPosition, PartitionTotals, RunPosition } from '../model/run-position.ts';
import type { PageRead } from '../source/read/read-pages.ts';
import { deleteMissing } from './delete-missing.ts';
import { partitionAt } from './partition-at.ts';
import type { PartitionReads } from './partition-reads.ts';
import { readDeletedList } from './read-deleted-list.ts';
import type { Partition, RunReading, RunReadOptions, Stage } from './reading.ts';
import type { RunPage } from './run-page.ts';

/** How a partition is read. */
export interface PartitionOptions extends RunReadOptions {
  readonly reads: PartitionReads;
}

/** One partition from `position` on: its records, the list of its deleted ones, its missing ones. */
export async function* readPartition(run: RunReading, position: PartitionPosition, options: PartitionOptions): Stage {
  if (position.step === 'read') return yield* readRecords(run, position, options);
  const partition = await partitionAt(run, position.no);
  const next = nextPosition(run, position);
  const { key } = partition;
  const completion = async (): Promise<PartitionEntry> => {
    const { watermark } = await run.store.partition(key);
    return { partition: key, watermark, completed: completionOf(run, position) };
  };
  return position.step === 'listed'
    ? yield* readDeletedList(run, { position, partition, next, completion }, options)
    : yield* deleteMissing(
        run,
        { at: position, partition: isPartitioned(run) ? key : null, next, completion },
        options,
      );
}

const isPartitioned = ({ resource }: RunReading): boolean => resource.forEach.length > 0;

/** A backfill reads up to the watermark only: new records of changed parents are left to the next sync. */
const completionOf = (
  { source }: RunReading,
  { listedAt, validators }: PartitionPosition,
): PartitionEntry['completed'] => ({ listedAt: source.backfill === null ? listedAt : null, validators });

interface ReadTo {
  readonly partition: Partition;
  readonly completion: PartitionEntry['completed'];
  /** Where the run continues after the page. */
  readonly next: RunPosition | null;
}

async function* readRecords(run: RunReading, position: PartitionPosition, { reads }: PartitionOptions): Stage {
  const { partition, stored, watermarkBefore, pages, isAt } = await reads.take(position);
  let at: PartitionPosition = { ...position, watermarkBefore };
  isAt(at);
  for await (const page of pages) {
    at = { ...at, validators: page.validators ?? (page.notModified ? stored.validators : at.validators) };
    at = { ...at, gaps: withGaps(at.gaps, page.gaps) };
    const next = page.positionAfter === null ? completed(run, at, page) : { ...at, read: page.positionAfter };
    yield toRunPage(page, { partition, next, completion: isCompleteBehind(page, next) ? completionOf(run, at) : null });
    if (page.positionAfter === null) return next;
    at = { ...at, read: page.positionAfter };
    isAt(at);
  }
  return undefined;
}

/**
 * Whether the partition has nothing after the page. This includes deletes: if a run ended before them, no later run
 * would make them, as the next one finds neither a changed parent nor a changed response.
 */
const isCompleteBehind = (page: PageRead, next: RunPosition | null): boolean =>
  page.positionAfter === null && page.skipped === null && (next?.stage !== 'partition' || next.step === 'read');

function toRunPage(page: PageRead, { partition, next, completion }: ReadTo): RunPage {
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
      completed: completion,
    },
    incomplete: page.skipped !== null,
    completesGeneration: false,
    notes,
  };
}

/** Where the run continues after the last page of a partition. Throws when the API has refused every partition. */
function completed(run: RunReading, at: PartitionPosition, { skipped }: PageRead): RunPosition | null {
  const totals = skipped === null ? at.totals : { ...at.totals, skipped: at.totals.skipped + 1 };
  if (skipped !== null && totals.skipped === totals.count) {
    const message =
      totals.count === 1 ? 'The API rejected the read' : `The API rejected all ${totals.count} partitions`;
    throw new AppError('source_rejected', `${message}: ${skipped}. The calls of the run show its responses.`);
  }
  const read = { ...at, totals: { ...totals, gaps: withGaps(totals.gaps, at.gaps) }, read: null };
  const step = skipped === null ? deletesStep(run, read) : null;
  return step === null ? nextPosition(run, read) : { ...read, step };
}

/** How the deleted records of a partition are found once it is read; null: no separate step. */
function deletesStep(run: RunReading, { gaps }: PartitionPosition): 'listed' | 'sweep' | null {
  const { deletes } = run.resource;
  if (deletes.mode === 'endpoint') return 'listed';
  const isAlone = deletes.mode === 'full_scan' && (deletes.scope === 'partition' || !isPartitioned(run));
  return isAlone && isWhole(gaps) ? 'sweep' : null;
}

/** The position after a partition: the next one, or a later stage of the run. */
function nextPosition(run: RunReading, position: PartitionPosition): RunPosition | null {
  const { totals } = position;
  return position.no + 1 < totals.count ? nextPartition(position) : afterPartitions(run, totals);
}

/** The position after the last partition, or without any. */
export function afterPartitions(run: RunReading, totals: PartitionTotals): RunPosition | null {
  const { deletes, target } = run.resource;
  const isOpen = deletes.mode === 'full_scan' && deletes.scope === 'resource' && isPartitioned(run);
  if (isOpen && totals.skipped === 0 && isWhole(totals.gaps)) return { stage: 'sweep', totals };
  return target.mode === 'replace' ? { stage: 'switch', gaps: totals.gaps } : null;
}

const nextPartition = (position: PartitionPosition): PartitionPosition => ({
  ...position,
  no: position.no + 1,
  step: 'read',
  read: null,
  watermarkBefore: null,
  validators: null,
  gaps: [],
});
