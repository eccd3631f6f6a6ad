import { AppError } from '../errors.ts';
import { isWhole } from '../model/coverage.ts';
import { possibleIds } from '../model/external-id.ts';
import type { PartitionEntry } from '../model/receipt.ts';
import type { PartitionPosition, RunPosition } from '../model/run-position.ts';
import type { Validators } from '../model/validators.ts';
import { cursorOfText, sendLowerBound } from '../source/cursor/cursor-value.ts';
import { followedBy } from '../source/read/list-items.ts';
import { readPages } from '../source/read/read-pages.ts';
import { createEvaluateEach } from '../source/request/evaluate-each.ts';
import { openResponseCache } from '../source/request/open-response-cache.ts';
import type { Source } from '../source/source.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import type { Partition, RunReading, RunReadOptions, Stage } from './reading.ts';
import { recentListCache } from './recent-list-cache.ts';
import { stagePage, tombstoneOf } from './run-page.ts';

type DeletedList = Extract<Resource['deletes'], { readonly mode: 'endpoint' }>;

interface ListRead {
  readonly position: PartitionPosition;
  readonly partition: Partition;
  readonly next: RunPosition | null;
  /** Says that the partition is read to its end; called once everything before is recorded. */
  readonly completion: () => Promise<PartitionEntry>;
}

/** Tombstones for the records that the API lists as deleted, as far as they are known and not deleted yet. */
export async function* readDeletedList(
  run: RunReading,
  { position, partition, next, completion }: ListRead,
  options: RunReadOptions,
): Stage {
  const { resource } = run;
  if (resource.deletes.mode !== 'endpoint') return next;
  const { deletes } = resource;
  // The records just read must be known, or a record created and deleted in between would stay.
  await options.delivered();
  const ofPartition = { ...run.source, each: partition.each };
  const recentList = recentListCache(ofPartition, deletes, run.lookupStore);
  const known = await knownTo(run, partition, deletes);
  const { pagination, ...named } = followedBy(deletes);
  const source = {
    ...ofPartition,
    ...notIncremental,
    ...named,
    resource: listResource(run.source.resource, { ...deletes, pagination }, known !== null),
    ...(known !== null && { sentWatermark: known }),
    validators: (await recentList?.find()) ?? null,
    responses: recentList ? null : openResponseCache(ofPartition, deletes.request, run.lookupStore),
    // From its end on it is known.
    provesEnd: mayStop(deletes),
  };
  let validators: Validators | null = null;
  let isRefused = false;
  // Another attempt may have read its first pages: their outcome is not known here.
  let isListedWhole = mayStop(deletes) && position.read === null;
  let at = position;
  const pages = readPages(source, { ...options, position: position.read });
  for await (const page of pages) {
    const ids = await idsOf(page.records, { key: deletes.key, source: ofPartition });
    const live = ids.length === 0 ? [] : await run.store.findLive(ids);
    const positionAfter = page.positionAfter === null ? next : { ...position, read: page.positionAfter };
    const tombstones = live.map((record) => tombstoneOf(record, deletes.effect));
    const incomplete = page.skipped !== null;
    isListedWhole &&= isWhole(page.gaps) && !incomplete;
    const isComplete = page.positionAfter === null && !incomplete;
    const part = { tombstones, requestKey: page.requestKey, incomplete };
    // What is refused counts before the list does.
    const isLate = isComplete && isListedWhole && live.length > 0;
    if (isLate) yield stagePage('listed', { ...part, positionAfter: at });
    else yield stagePage('listed', { ...part, positionAfter, partition: isComplete ? await entry() : null });
    // Whatever reads such a record next must find it deleted.
    if (live.length > 0) {
      await options.delivered();
      // The destination refused their deletion: an unchanged list must not hide them from the next run.
      isRefused ||= (await run.store.findLive(live.map(({ externalId }) => externalId))).length > 0;
    }
    if (isLate) yield stagePage('listed', { positionAfter, partition: await entry() });
    validators ??= page.validators;
    if (page.positionAfter !== null) {
      at = { ...position, read: page.positionAfter };
      continue;
    }
    if (validators && !incomplete && !isRefused) await recentList?.note(validators);
    return next;
  }
  return undefined;

  async function entry(): Promise<PartitionEntry> {
    return withList(await completion(), isListedWhole && !isRefused);
  }
}

/** Whether the list may end where it is known, by the watermark. */
const mayStop = ({ stopWhen = '' }: DeletedList): boolean => /\bwatermark\b/.test(stopWhen);

/**
 * The watermark up to which the list of a partition is known, as requests carry it; null: it is not, or nobody asks. The
 * stored one will not do: it has moved with the records of this run, or of one that failed before it read the list.
 */
async function knownTo(
  { resource: { incremental }, store }: RunReading,
  { key }: Partition,
  deletes: DeletedList,
): Promise<string | number | null> {
  if (incremental?.kind !== 'cursor' || !mayStop(deletes)) return null;
  const { deletionsTo } = await store.partition(key);
  const value = cursorOfText(deletionsTo, incremental.cursor);
  return value === null ? null : sendLowerBound(value, incremental.cursor);
}

/** The end of a partition whose list of deleted records was read, and is known up to its watermark if it was whole. */
const withList = (entry: PartitionEntry, isListedWhole: boolean): PartitionEntry =>
  entry.completed === null || entry.watermark === null || !isListedWhole
    ? entry
    : { ...entry, completed: { ...entry.completed, deletionsTo: entry.watermark } };

const notIncremental = { watermark: null, backfill: null } as const;

/** A list of which nothing is known is read whole. */
function listResource(resource: Source['resource'], deletes: DeletedList, isKnown: boolean): Source['resource'] {
  const { decoder, bigNumbers, recordsMissing } = resource.response;
  const { key, errors } = resource;
  const { request, records, pagination, stopWhen } = deletes;
  return {
    key,
    errors,
    request,
    response: { decoder, bigNumbers, recordsMissing, records, addFields: {} },
    pagination: stopWhen === undefined || (mayStop(deletes) && !isKnown) ? pagination : { ...pagination, stopWhen },
  };
}

/** The ids that records may have whose keys are listed; a list of values stands for a key of several fields. */
async function idsOf(
  items: readonly unknown[],
  { key, source }: { readonly key: string; readonly source: Omit<Source, 'watermark'> },
): Promise<readonly string[]> {
  const results = await createEvaluateEach(source)(key, items);
  const ids = results.flatMap((result) => {
    if (result.ok) return idsOfKey(result.value);
    throw new AppError('spec_invalid', `deletes.key fails on an item: ${result.message}`);
  });
  return [...new Set(ids)];
}

function idsOfKey(key: unknown): readonly string[] {
  const ids = possibleIds(key);
  if (ids) return ids;
  throw new AppError('source_rejected', 'deletes.key selects no value in an item of the list. Correct it in the spec.');
}
