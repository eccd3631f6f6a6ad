import { AppError } from '../errors.ts';
import { hidingGaps, proofOf, withGaps } from '../model/coverage.ts';
import type { PartitionEntry } from '../model/receipt.ts';
import type { RunNote } from '../model/run-notes.ts';
import type { PartitionPosition, PartitionTotals, RunPosition } from '../model/run-position.ts';
import type { Validators } from '../model/validators.ts';
import type { PageRead } from '../source/read/read-pages.ts';
import { deletesAtEnd } from '../spec/connection/deletes-at-end.ts';
import { unfinished } from '../spec/connection/shape-values.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { isNamedFirst, isOfResource } from './listed-deletions.ts';
import { partitionAt } from './partition-at.ts';
import { type PartitionRead, type PartitionReads, storedPartition } from './partition-reads.ts';
import { readDeletedList, readListBefore } from './read-deleted-list.ts';
import type { Partition, RunReading, RunReadOptions, Stage } from './reading.ts';
import { type RunPage, stagePage } from './run-page.ts';

/** Options for reading a partition. */
export interface PartitionOptions extends RunReadOptions {
  readonly reads: PartitionReads;
}

/** Reads one partition from `position` on. */
export async function* readPartition(run: RunReading, position: PartitionPosition, options: PartitionOptions): Stage {
  if (position.step === 'read')
    return (await beginsWithList(run, position))
      ? { ...position, step: 'named' }
      : yield* readRecords(run, position, options);
  const next = nextPosition(run, position);
  if (position.step === 'sweep') {
    yield stagePage(position.step, { positionAfter: next });
    return next;
  }
  const partition = await partitionAt(run, position.no);
  if (position.step === 'named') return yield* readListBefore(run, { position, partition }, options);
  const completion = async (): Promise<PartitionEntry> => {
    const { watermark } = await run.store.partition(partition.key);
    return { partition: partition.key, watermark, completed: completionOf(run, position) };
  };
  return yield* readDeletedList(run, { position, partition, next, completion }, options);
}

async function beginsWithList(run: RunReading, { no, read, isNamed }: PartitionPosition): Promise<boolean> {
  if (
    isNamed !== undefined ||
    read !== null ||
    run.store.isStill ||
    run.source.backfill !== null ||
    !isNamedFirst(run.resource)
  )
    return false;
  const { stored } = await storedPartition(run, await partitionAt(run, no));
  return stored.watermark === null;
}

const isPartitioned = ({ resource }: RunReading): boolean => resource.forEach.length > 0;

/**
 * A backfill reads only up to the watermark, so new records of changed parents are left to the next sync. The same
 * holds for flagged deletions when a changed shape has all records read again: only changes show them. The records of
 * a changed parent that a gap hides are read again.
 */
function completionOf(
  { source, resource }: RunReading,
  { listedAt, validators, readAt, gaps }: PartitionPosition,
  change: PartitionChange = null,
): NonNullable<PartitionEntry['completed']> {
  const isComplete = source.backfill === null && hidingGaps(gaps).length === 0;
  const hasAll = isComplete && !(change === 'shape' && resource.deletes.mode === 'flag');
  return {
    listedAt: hasAll ? listedAt : null,
    validators: change === 'shape' ? null : validators,
    ...(readAt !== undefined && { readAt }),
  };
}

/**
 * A backfill reads only a part and thus stores no shape. A repeated read for a changed shape is done only without
 * hiding gaps, since no later read shows what it lacks.
 */
function shapeAfter(run: RunReading, { each, change, at }: ReadTo, isLast: boolean): Pick<PartitionEntry, 'shape'> {
  const shape = run.source.backfill === null ? run.shapeOf(each) : null;
  const isDone = isLast && (change !== 'shape' || hidingGaps(at.gaps).length === 0);
  if (shape === null || (!isDone && change === null)) return {};
  return { shape: isDone || change === null ? shape : unfinished(shape, change) };
}

type PartitionChange = PartitionRead['change'];

interface ReadTo {
  readonly entry: Pick<PartitionEntry, 'partition' | 'firstStart'>;
  readonly each: Partition['each'];
  readonly change: PartitionChange;
  readonly at: PartitionPosition;
  readonly next: RunPosition | null;
}

async function* readRecords(run: RunReading, position: PartitionPosition, { reads }: PartitionOptions): Stage {
  const { partition, stored, change, watermarkBefore, pages, isAt, firstStart, savedAt } = await reads.take(position);
  const { each, key } = partition;
  const entry = (): ReadTo['entry'] => {
    const start = firstStart();
    return { partition: key, ...(start !== null && { firstStart: start }) };
  };
  let at: PartitionPosition = { ...position, watermarkBefore };
  isAt(at);
  try {
    for await (const page of pages) {
      at = { ...at, validators: page.validators ?? (page.notModified ? stored.validators : at.validators) };
      at = { ...at, gaps: withGaps(at.gaps, page.gaps), ...(page.readAt !== null && { readAt: page.readAt }) };
      const next = page.positionAfter === null ? completed(run, at, page) : { ...at, read: page.positionAfter };
      yield toRunPage(run, page, { entry: entry(), each, change, at, next });
      if (page.positionAfter === null) return next;
      at = { ...at, read: page.positionAfter };
      isAt(at);
    }
  } catch (error) {
    // Records that arrive until the next run also belong to the first read.
    const { firstStart: start } = entry();
    const isUnknown = at.read === null && start !== undefined && start !== stored.firstStart;
    if (isUnknown) yield startPage({ ...at, read: savedAt() }, entry());
    throw error;
  }
  return undefined;
}

/** Stores the start of a first read before any of its pages. */
const startPage = (at: PartitionPosition, entry: ReadTo['entry']): RunPage =>
  stagePage('start', { positionAfter: at, partition: { ...entry, watermark: at.watermarkBefore, completed: null } });

function toRunPage(run: RunReading, page: PageRead, { entry, each, change, at, next }: ReadTo): RunPage {
  const { partition: key } = entry;
  const isLast = page.positionAfter === null;
  const isAgain = page.again && run.resource.deletes.mode === 'flag';
  const notes: readonly RunNote[] = [...page.notes, ...(page.skipped === null ? [] : (['partition_skipped'] as const))];
  const completion = isLast && page.skipped === null ? completionOf(run, at, change) : null;
  const proof = proofOf(at.gaps);
  const shape = page.skipped === null ? shapeAfter(run, { entry, each, change, at, next }, isLast) : {};
  // If a run ended before its deletes, no later one would make them: it finds neither a changed parent nor a changed
  // response.
  const hasDeletes = comparesAtEnd(run.resource) || (next?.stage === 'partition' && next.step === 'listed');
  // Until its deletions are made, a read of everything leaves the watermark, or the next run would not read it again.
  const waits = isAgain && (!isLast || page.isFromBeginning);
  const waiting = isLast && waits && completion ? { ...completion, watermark: page.watermarkAfter } : null;
  const isEnd = !hasDeletes || (proof === 'unchanged' && comparesAtEnd(run.resource));
  return stagePage(page.requestKey, {
    records: page.records,
    each,
    positionAfter: next,
    ...(isAgain && { isCompared: true }),
    partition: waits
      ? { ...entry, ...shape, watermark: at.watermarkBefore, completed: null }
      : { ...entry, ...shape, watermark: page.watermarkAfter, completed: isEnd ? completion : null },
    proof: waiting
      ? { partition: key, proof, completed: proof === 'whole' ? waiting : null }
      : isLast && comparesAtEnd(run.resource) && isPartitioned(run)
        ? { partition: key, proof, completed: proof === 'whole' ? completion : null }
        : null,
    incomplete: page.skipped !== null,
    notes,
  });
}

/** The position after the last page of a partition; throws if the API has refused every partition of a run that reads all. */
function completed(run: RunReading, at: PartitionPosition, page: PageRead): RunPosition | null {
  const { skipped } = page;
  const totals = withAgain(skipped === null ? at.totals : { ...at.totals, skipped: at.totals.skipped + 1 }, page);
  if (skipped !== null && totals.skipped === totals.count && readsAll(run)) {
    const message =
      totals.count === 1 ? 'The API rejected the read' : `The API rejected all ${totals.count} partitions`;
    throw new AppError('source_rejected', `${message}: ${skipped}. The calls of the run show its responses.`);
  }
  const read = { ...at, totals: { ...totals, gaps: withGaps(totals.gaps, at.gaps) }, read: null };
  const isLast = at.no + 1 === totals.count;
  const isListed =
    skipped === null && run.resource.deletes.mode === 'endpoint' && (isLast || !isOfResource(run.resource));
  return isListed ? { ...read, step: 'listed' } : nextPosition(run, read);
}

const withAgain = (totals: PartitionTotals, { again, isFromBeginning }: PageRead): PartitionTotals =>
  again ? { ...totals, again: (totals.again ?? 0) + (isFromBeginning ? 1 : 0) } : totals;

/** Whether the run reads every partition; otherwise a refused one may be the only one. */
const readsAll = ({ resource, source }: RunReading): boolean =>
  source.backfill !== null || resource.forEach.every(({ select }) => select !== 'changed');

function nextPosition(run: RunReading, position: PartitionPosition): RunPosition | null {
  const { totals, validators } = position;
  if (position.no + 1 < totals.count) return nextPartition(position);
  return afterPartitions(run, totals, isPartitioned(run) ? null : validators);
}

/** The position after the last partition, or without any. */
export function afterPartitions(
  run: RunReading,
  totals: PartitionTotals,
  validators: Validators | null = null,
): RunPosition | null {
  const { resource } = run;
  const { mode } = resource.deletes;
  if (mode === 'endpoint' || (mode === 'flag' && totals.again !== undefined)) return { stage: 'sweep', totals };
  const isUnchanged = !isPartitioned(run) && proofOf(totals.gaps) === 'unchanged';
  if (comparesAtEnd(resource) ? !isUnchanged : deletesAtEnd(resource)) return { stage: 'sweep', totals, validators };
  return resource.target.mode === 'replace' ? { stage: 'switch', gaps: totals.gaps } : null;
}

const comparesAtEnd = ({ deletes }: Resource): boolean => deletes.mode === 'full_scan';

const nextPartition = ({
  readAt: _before,
  isNamed: _named,
  list: _list,
  ...position
}: PartitionPosition): PartitionPosition => ({
  ...position,
  no: position.no + 1,
  step: 'read',
  read: null,
  watermarkBefore: null,
  validators: null,
  gaps: [],
});
