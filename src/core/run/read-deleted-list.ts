import { AppError } from '../errors.ts';
import { storableText } from '../json/storable-text.ts';
import { isWhole, withGaps } from '../model/coverage.ts';
import { possibleIds } from '../model/external-id.ts';
import type { ListedDeletions, NamedDeletion, PartitionEntry } from '../model/receipt.ts';
import type { ListProgress, PartitionPosition, RunPosition } from '../model/run-position.ts';
import type { Validators } from '../model/validators.ts';
import { cursorOfText, cursorText, parseInitialCursor, sendLowerBound } from '../source/cursor/cursor-value.ts';
import { followedBy } from '../source/read/list-items.ts';
import { type PageRead, readPages } from '../source/read/read-pages.ts';
import { createEvaluateEach } from '../source/request/evaluate-each.ts';
import { openResponseCache } from '../source/request/open-response-cache.ts';
import type { Source } from '../source/source.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { mapWithPauses } from '../work/map-with-pauses.ts';
import {
  type DeletedList,
  isNamedFirst,
  isOfResource,
  type ListContext,
  mayStop,
  stateOf,
  timesOf,
} from './listed-deletions.ts';
import type { Partition, RunReading, RunReadOptions, Stage } from './reading.ts';
import { recentListCache } from './recent-list-cache.ts';
import { stagePage } from './run-page.ts';
import type { ListedQuestion } from './run-store.ts';

interface ListRead {
  readonly position: PartitionPosition;
  readonly partition: Partition;
  readonly next: RunPosition | null;
  /** Completes the partition; called once everything before is recorded. */
  readonly completion: () => Promise<PartitionEntry>;
}

/** Notes which known records the API lists as deleted; if that leaves open whether one lives, the next run reads it again. */
export async function* readDeletedList(
  run: RunReading,
  { position, partition, next, completion }: ListRead,
  options: RunReadOptions,
): Stage {
  const { resource, store } = run;
  if (resource.deletes.mode !== 'endpoint') return next;
  const { deletes } = resource;
  // The records just read decide whether a listed record lives.
  await options.delivered();
  const known = await store.partition(partition.key);
  // At the start of a first read, anything known belongs to another list or was reset.
  const deletionsTo = position.watermarkBefore === null ? null : known.deletionsTo;
  const key = isOfResource(resource) ? '' : partition.key;
  const context = contextOf(run, position);
  const { watermarkBefore } = position;
  const isBackfill = run.source.backfill !== null;
  const { pages, isPart, note } = await openList(run, { deletes, partition, deletionsTo, position }, options);
  let list = position.list ?? nothingListed;
  let validators: Validators | null = null;
  for await (const page of pages) {
    const named = await namedOn(page, { run, deletes, partition, key, context, drops: isPart || !mayStop(deletes) });
    const incomplete = page.skipped !== null;
    list = {
      gaps: withGaps(list.gaps, page.gaps),
      pending: earlier([list.pending, ...named.map(({ pending }) => pending)]),
    };
    validators ??= page.validators;
    const isEnd = page.positionAfter === null && !incomplete;
    const isKnown = isEnd && isWhole(list.gaps) && !isBackfill;
    const entry = isEnd ? await completion() : null;
    const after = isKnown ? next : withUnknownList(next);
    yield stagePage('listed', {
      requestKey: page.requestKey,
      incomplete,
      positionAfter: page.positionAfter === null ? after : { ...position, read: page.positionAfter, list },
      partition: entry && endOf(entry, { list, isKnown, from: list.pending === 'now' ? watermarkBefore : deletionsTo }),
      listed: {
        partition: key,
        named: named.flatMap(({ deletion }) => deletion ?? []),
        end: !isKnown ? null : isPart ? 'known' : 'all',
      },
      notes: isEnd && list.pending !== null ? ['deletes_pending'] : [],
    });
    if (page.positionAfter !== null) continue;
    if (validators && isEnd && !isBackfill && list.pending === null) {
      // From now on the list may be skipped, so its deletions must be recorded.
      await options.delivered();
      await note(validators);
    }
    return after;
  }
  return undefined;
}

const withUnknownList = (next: RunPosition | null): RunPosition | null =>
  next !== null && 'totals' in next ? { ...next, totals: { ...next.totals, isListUnknown: true } } : next;

const nothingListed: ListProgress = { gaps: [], pending: null };

/** When the pending records were read, or `null` if nothing is pending. */
function earlier(pending: readonly ListProgress['pending'][]): ListProgress['pending'] {
  if (pending.includes('since')) return 'since';
  return pending.includes('now') ? 'now' : null;
}

/** Notes the names on the list before the records of a partition are read for the first time. */
export async function* readListBefore(
  run: RunReading,
  { position, partition }: Pick<ListRead, 'position' | 'partition'>,
  options: RunReadOptions,
): Stage {
  const { deletes } = run.resource;
  const { list = nothingListed, ...begin } = position;
  let { gaps } = list;
  const next = (): PartitionPosition => ({ ...begin, step: 'read', read: null, isNamed: isWhole(gaps) });
  if (deletes.mode !== 'endpoint') return next();
  const { pages } = await openList(run, { deletes, partition, deletionsTo: null, position, needsAll: true }, options);
  for await (const page of pages) {
    const items = await itemsOf(page.records, { run, deletes, partition });
    const named = [...items].map(([externalId, deletedAt]) => ({ externalId, deletedAt, state: 'before' }) as const);
    const listed: ListedDeletions = { partition: partition.key, named, end: null };
    gaps = withGaps(gaps, page.gaps);
    const { positionAfter: read } = page;
    const positionAfter = read === null ? next() : { ...position, read, list: { ...list, gaps } };
    yield stagePage('named', { requestKey: page.requestKey, positionAfter, listed });
    if (read === null) return positionAfter;
  }
  return undefined;
}

interface OpenedList {
  readonly deletes: DeletedList;
  readonly partition: Partition;
  readonly deletionsTo: string | null;
  readonly position: PartitionPosition;
  /** Requests the list even if it is unchanged. */
  readonly needsAll?: true;
}

async function openList(
  run: RunReading,
  { deletes, partition, deletionsTo, position, needsAll }: OpenedList,
  options: RunReadOptions,
) {
  const ofPartition = { ...run.source, each: partition.each };
  const recentList = recentListCache(ofPartition, deletes, run.lookupStore);
  const known = knownTo(run, deletionsTo, deletes);
  const { pagination, ...named } = followedBy(deletes);
  const source = {
    ...ofPartition,
    ...notIncremental,
    ...named,
    resource: listResource(run.source.resource, { ...deletes, pagination }, known !== null),
    ...(known !== null && { sentWatermark: known }),
    validators: needsAll ? null : ((await recentList?.find()) ?? null),
    responses: recentList || needsAll ? null : openResponseCache(ofPartition, deletes.request, run.lookupStore),
    // The end of the list sets how far it is known.
    provesEnd: mayStop(deletes),
  };
  const pages = readPages(source, { ...options, position: position.read });
  // The read may end where the list is already known.
  const isPart = known !== null || (deletes.stopWhen !== undefined && !mayStop(deletes));
  return { pages, isPart, note: async (validators: Validators) => await recentList?.note(validators) };
}

/**
 * The watermark up to which the list is known, as requests carry it, or `null` if unknown or unused. The stored
 * watermark will not do: it moved with the records of this run, or of one that failed before the list.
 */
function knownTo(
  { resource: { incremental } }: RunReading,
  deletionsTo: string | null,
  deletes: DeletedList,
): string | number | null {
  if (incremental?.kind !== 'cursor' || !mayStop(deletes)) return null;
  const value = cursorOfText(deletionsTo, incremental.cursor);
  return value === null ? null : sendLowerBound(value, incremental.cursor);
}

/**
 * The completion of a partition whose list was read to its end. If something is pending, the next run reads again from
 * `from`. A whole list is known up to the watermark.
 */
function endOf(
  entry: PartitionEntry,
  { list, isKnown, from }: { readonly list: ListProgress; readonly isKnown: boolean; readonly from: string | null },
): PartitionEntry {
  const { completed, watermark } = entry;
  if (completed === null) return entry;
  if (list.pending !== null) return { ...entry, watermark: from, completed: { listedAt: null, validators: null } };
  return isKnown && watermark !== null ? { ...entry, completed: { ...completed, deletionsTo: watermark } } : entry;
}

const notIncremental = { watermark: null, backfill: null } as const;

/** A list is read whole until part of it is known. */
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

function contextOf(run: RunReading, position: PartitionPosition): ListContext {
  const { resource, source } = run;
  const { gaps, totals, watermarkBefore, isNamed } = position;
  const isFull = resource.incremental === undefined;
  const ofResource = isOfResource(resource);
  const isRead = ofResource ? isWhole(totals.gaps) && totals.listGaps?.length === 0 : isWhole(gaps);
  const kind = isFull ? 'full' : source.backfill ? 'backfill' : watermarkBefore === null ? 'first' : 'changes';
  const wasToBeNamed = isNamed !== true && isNamedFirst(resource) && run.store.isStill === undefined;
  const named = { isNamed: isNamed === true, wasToBeNamed };
  return {
    form: timesOf(resource),
    showsAll: isFull && isRead,
    kind,
    ...named,
    readsAgain: !ofResource,
    isOpen: source.backfill?.force === true,
  };
}

interface ListedOf {
  readonly run: RunReading;
  readonly deletes: DeletedList;
  readonly partition: Partition;
}

interface Named {
  readonly deletion: NamedDeletion | null;
  readonly pending: ListProgress['pending'];
}

async function namedOn(
  page: PageRead,
  {
    key,
    context,
    drops,
    ...of
  }: ListedOf & Pick<ListedQuestion, 'drops'> & { readonly key: string; readonly context: ListContext },
): Promise<readonly Named[]> {
  const items = await itemsOf(page.records, of);
  if (items.size === 0) return [];
  const asked = { partition: key, externalIds: [...items.keys()], drops };
  const known = await of.run.store.findListed(asked);
  return known.map((record) => {
    const { externalId, seen } = record;
    const deletedAt = items.get(externalId) ?? null;
    const state = stateOf(record, deletedAt, context);
    const pending = state !== 'pending' ? null : seen === 'now' ? 'now' : 'since';
    return { deletion: state && { externalId, state, deletedAt }, pending };
  });
}

/** The latest deletion time of each possible record id on the list, as canonical text, or `null` without a time. */
async function itemsOf(
  items: readonly unknown[],
  { run, deletes, partition }: ListedOf,
): Promise<ReadonlyMap<string, string | null>> {
  const evaluate = createEvaluateEach({ ...run.source, each: partition.each });
  const form = timesOf(run.resource);
  const valuesOf = async (name: 'key' | 'at', expression: string): Promise<readonly unknown[]> =>
    (await evaluate(expression, items)).map((result) => {
      if (result.ok) return result.value;
      throw new AppError('spec_invalid', `deletes.${name} fails on an item: ${result.message}`);
    });
  const keys = await valuesOf('key', deletes.key);
  const times = deletes.at === undefined ? [] : await valuesOf('at', deletes.at);
  const found = new Map<string, string | null>();
  const note = (key: unknown, _: undefined, index: number): void => {
    const time = timeOf(times[index], form);
    for (const id of idsOfKey(key, run.resource)) {
      const before = cursorOfText(found.get(id) ?? null, form);
      if (!found.has(id) || before === null || (time !== null && time > before))
        found.set(id, time === null ? null : cursorText(time, form));
    }
    if (found.size > idsMax) throw tooManyIds();
  };
  await mapWithPauses(keys, note);
  return found;
}

function timeOf(value: unknown, form: ReturnType<typeof timesOf>) {
  if (value === null || value === undefined || value === '') return null;
  const time = parseInitialCursor(value, form);
  if (time !== null) return time;
  const message = `deletes.at selects no value of type ${form.type} in an item of the list.`;
  throw new AppError('source_rejected', `${message} Correct it in the spec.`);
}

/** A key of several fields is a list of values. */
function idsOfKey(key: unknown, { primaryKey }: Pick<Resource, 'primaryKey'>): readonly string[] {
  const ids = possibleIds(key, primaryKey.length);
  if (ids) return ids.map(storableText);
  const what = primaryKey.length === 1 ? 'no value' : `no list of ${primaryKey.length} values, as primaryKey has,`;
  throw new AppError('source_rejected', `deletes.key selects ${what} in an item of the list. Correct it in the spec.`);
}

/** Maximum ids on a page; a key of several fields may be written in 16 ways. */
const idsMax = 1_000_000;

const tooManyIds = (): AppError =>
  new AppError(
    'source_rejected',
    `A page of the list of deleted records names more than ${idsMax} ids. Ask for smaller pages.`,
  );
