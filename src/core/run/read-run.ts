/**
 * A run as a sequence of pages: retried records, then each partition, then the deletions found by the run. Each page
 * carries the position after it, so an attempt in another process can continue after the last recorded page.
 */

import { canonicalJson } from '../json/canonical-json.ts';
import { hidingGaps, isWhole } from '../model/coverage.ts';
import {
  currentPosition,
  type ListPosition,
  listBegin,
  type PartitionPosition,
  type PartitionTotals,
  type RunPosition,
  runStart,
} from '../model/run-position.ts';
import { brakeOf, isHeldBack } from './absence.ts';
import { deleteFlagged } from './delete-flagged.ts';
import { deleteListed } from './delete-listed.ts';
import { deleteMissing, tombstonesMax } from './delete-missing.ts';

import { listPartitions } from './list-partitions.ts';
import { type ListStep, listSteps } from './list-steps.ts';
import { countPartitions } from './partition-at.ts';
import { openPartitionReads } from './partition-reads.ts';
import { afterPartitions, type PartitionOptions, readPartition } from './read-partition.ts';
import type { RunReading, RunReadOptions, Stage } from './reading.ts';
import { type RunPage, stagePage } from './run-page.ts';

const requeuedMax = 500;

/** The pages of a run from `start` on, in order; throws `AppError` and errors of the HTTP client. */
export async function* readRun(
  run: RunReading,
  start: RunPosition,
  options: RunReadOptions,
): AsyncGenerator<RunPage, void, undefined> {
  await using reads = openPartitionReads(run, options);
  let position: RunPosition | null | undefined = currentPosition(start);
  while (position) position = yield* stageOf(run, position, { ...options, reads });
}

function stageOf(run: RunReading, position: RunPosition, options: PartitionOptions): Stage {
  switch (position.stage) {
    case 'bury':
      return repeatDeletes(run, position);
    case 'retry':
      return retryRequeued(run, position);
    case 'list':
      return list(run, position, options);
    case 'partition':
      return readPartition(run, position, options);
    case 'sweep':
      return deletionsOf(run.resource)(run, position, options);
    case 'switch':
      return switchTable(run, position, options);
  }
}

function deletionsOf({ deletes }: RunReading['resource']): typeof deleteMissing {
  if (deletes.mode === 'endpoint') return deleteListed;
  return deletes.mode === 'flag' ? deleteFlagged : deleteMissing;
}

/** Repeats known deletions for a rewind or a destination that lost batches; deleting a missing row changes nothing. */
async function* repeatDeletes(
  { resource: { deletes, target }, store }: RunReading,
  position: Extract<RunPosition, { readonly stage: 'bury' }>,
): Stage {
  if (deletes.mode === 'none' || target.mode === 'replace') return runStart;
  const { effect } = deletes;
  for (let { after } = position; ; ) {
    const externalIds = await store.findDeleted({ after, limit: tombstonesMax });
    const last = externalIds.at(-1);
    if (last === undefined) return runStart;
    after = last;
    const tombstones = externalIds.map((externalId) => ({ externalId, effect }));
    yield stagePage('bury', { tombstones, positionAfter: { stage: 'bury', after } });
  }
}

async function* retryRequeued(run: RunReading, position: Extract<RunPosition, { readonly stage: 'retry' }>): Stage {
  let { after } = position;
  for (;;) {
    const rows = await run.store.requeued({ after, limit: requeuedMax });
    const [first] = rows;
    if (!first) break;
    const shared = canonicalJson(first.each);
    const length = rows.findIndex(({ each }) => canonicalJson(each) !== shared);
    const page = length === -1 ? rows : rows.slice(0, length);
    after = page.at(-1)?.id ?? null;
    yield stagePage('retry', {
      records: page.map(({ record }) => record),
      each: first.each,
      origin: 'retried',
      retried: page.map(({ id }) => id),
      retries: page.map(({ record: _record, each: _each, ...retry }) => retry),
      positionAfter: { stage: 'retry', after },
    });
  }
  if (run.resource.forEach.length === 0) return firstPartition(1, { listedAt: null, gaps: [] });
  return listBegin;
}

async function* list(
  run: RunReading,
  position: ListPosition,
  { delivered, reads: _reads, ...read }: PartitionOptions,
): Stage {
  // Listing moves the run past pages, which must be recorded by then.
  await delivered();
  const end = await listPartitions(run, position, read);
  if (end === null) return undefined;
  const count = await countPartitions(run);
  const next = count > 0 ? firstPartition(count, end) : withoutPartitions(run, end);
  if (next !== null && !end.incomplete) return next;
  const notes = end.incomplete ? hidingGaps(end.gaps) : [];
  yield stagePage('list', { positionAfter: next, incomplete: end.incomplete, notes });
  return next;
}

/** Missing stored parents may not be read yet, which proves nothing, but deletions found by earlier runs are still made. */
const withoutPartitions = (run: RunReading, { gaps }: ListPosition): RunPosition | null => {
  const totals = { count: 0, skipped: 0, gaps };
  if (!listSteps(run).some(isOfStored)) return afterPartitions(run, { ...totals, listGaps: gaps });
  return run.resource.target.mode === 'replace' ? null : { stage: 'sweep', totals };
};

const isOfStored = (step: ListStep): boolean =>
  step.kind === 'dimension' && step.dimension.resource !== undefined && step.dimension.from === 'store';

const firstPartition = (
  count: number,
  { listedAt, gaps }: Pick<PartitionTotals, 'gaps'> & Pick<PartitionPosition, 'listedAt'>,
): PartitionPosition => ({
  stage: 'partition',
  no: 0,
  step: 'read',
  read: null,
  watermarkBefore: null,
  validators: null,
  gaps: [],
  totals: { count, skipped: 0, gaps, listGaps: gaps },
  listedAt,
});

/** A read with gaps, or with too few rows, does not replace the table. */
async function* switchTable(
  { store, resource: { target }, force }: RunReading,
  { gaps }: Extract<RunPosition, { readonly stage: 'switch' }>,
  { delivered }: RunReadOptions,
): Stage {
  await delivered();
  const { recordsOut } = await store.readSoFar();
  const isUnchanged = gaps.length > 0 && recordsOut === 0 && hidingGaps(gaps).length === 0;
  const isRead = isWhole(gaps) && (await store.isClean());
  const rows = isRead && !force ? await store.countReplaced() : 0;
  const lacking = { missing: rows - recordsOut, flagged: 0 };
  const isHeld = await isHeldBack(store, { ...lacking, countKnown: async () => rows }, brakeOf(target));
  const notes = isHeld ? (['deletes_held_back'] as const) : isUnchanged ? gaps : hidingGaps(gaps);
  const incomplete = isHeld || (!isWhole(gaps) && !isUnchanged);
  yield stagePage('switch', { positionAfter: null, completesGeneration: isRead && !isHeld, incomplete, notes });
  return null;
}
