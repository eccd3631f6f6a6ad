/**
 * The partitions of a run: every combination of the values of `forEach`, listed once and stored for the whole run. For
 * a live parent with partitions, the values of its entries are listed first, recursively.
 */

import { AppError } from '../errors.ts';
import { renderTemplate } from '../expressions/template.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import { valueAt } from '../json/dotted-path.ts';
import { storableText } from '../json/storable-text.ts';
import { type Gap, withGaps } from '../model/coverage.ts';
import { boundedKey, externalIdOf } from '../model/external-id.ts';
import type { ListPosition } from '../model/run-position.ts';
import { createFieldPicker } from '../pipeline/stored-fields.ts';
import { type ReadOptions, readPages } from '../source/read/read-pages.ts';
import { createEvaluateEach } from '../source/request/evaluate-each.ts';
import type { Source } from '../source/source.ts';
import { concludesAbsence } from '../spec/connection/concludes-absence.ts';
import type { PartitionSource } from '../spec/connection/partition-sources.ts';
import { parentFields } from '../spec/connection/stored-fields.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { combinationAt, countCombinations } from './combinations.ts';
import { listCombinations } from './list-combinations.ts';
import { listGroups } from './list-groups.ts';
import { comparesCombinations, type ListStep, listSteps } from './list-steps.ts';
import type { Listing, OpenResource } from './reading.ts';
import type { DimensionValue } from './run-store.ts';

type DimensionStep = Extract<ListStep, { readonly kind: 'dimension' }>;

const parentsMax = 1000;

/**
 * Makes the lists from `position` on, and stores each part with the position after it, so that no attempt lists it
 * again.
 *
 * @returns the position after the last list, or `null` when told to stop. Throws `spec_invalid` and the errors of
 * reading pages.
 */
export async function listPartitions(
  listing: Listing,
  position: ListPosition,
  read: Omit<ReadOptions, 'position'>,
): Promise<ListPosition | null> {
  const steps = listSteps(listing);
  const open = openedOnce(listing);
  let at: ListPosition | null = position;
  while (at !== null) {
    const step: ListStep | undefined = steps[at.dimension];
    if (step === undefined) return at;
    at = await listStep({ ...listing, open }, step, { at, read });
  }
  return null;
}

function listStep(
  listing: OpenListing,
  step: ListStep,
  { at, read }: Omit<DimensionListing, 'step'>,
): Promise<ListPosition | null> {
  switch (step.kind) {
    case 'combinations':
      return listCombinations({ ...listing, signal: read.signal }, at);
    case 'groups':
      return listGroups({ ...listing, signal: read.signal }, step, at);
    case 'dimension':
      return listDimension(listing, { step, at, read });
  }
}

/** Listing may read a parent's values and then its records, so each resource is opened once. */
function openedOnce(listing: Listing): OpenListing['open'] {
  const opened = new Map<string, Promise<OpenResource>>([[listing.resource.key, Promise.resolve(listing)]]);
  return (resourceKey) => {
    const open = opened.get(resourceKey) ?? listing.openParent(resourceKey);
    opened.set(resourceKey, open);
    return open;
  };
}

interface OpenListing extends Listing {
  readonly open: (resourceKey: string) => Promise<OpenResource>;
}

interface DimensionListing {
  readonly step: DimensionStep;
  readonly at: ListPosition;
  readonly read: Omit<ReadOptions, 'position'>;
}

function listDimension(listing: OpenListing, part: DimensionListing): Promise<ListPosition | null> {
  const { dimension } = part.step;
  if (dimension.resource === undefined) return listValues(listing, part);
  return dimension.from === 'live' ? listLive(listing, part) : listStored(listing, part);
}

const following = (at: ListPosition): ListPosition => ({
  ...at,
  dimension: at.dimension + 1,
  after: null,
  read: null,
  part: null,
});

async function listValues({ open, store }: OpenListing, { step, at }: DimensionListing): Promise<ListPosition> {
  const { dimension, resource, list } = step;
  const { params, lookups, run, evaluator } = (await open(resource.key)).source;
  const roots = { params, lookups, run, auth: {} };
  const options = { evaluator, now: new Date(run.startedAt), missing: 'omit' } as const;
  const values = await renderTemplate(dimension.values, roots, options);
  if (!Array.isArray(values)) {
    throw new AppError(
      'spec_invalid',
      `forEach "${dimension.as}" does not return a list. Correct its values in the spec.`,
    );
  }
  const next = following(at);
  if (step.begins) await store.clearDimension(list);
  await store.addToDimension(list, inKeySpace(step, values.map(valueOf)), next);
  return next;
}

const inKeySpace = ({ keySpace }: DimensionStep, values: readonly DimensionValue[]): readonly DimensionValue[] =>
  keySpace === null
    ? values
    : values.map(({ key, value }) => ({ key: keyOf(JSON.stringify([...keySpace, key])), value }));

const valueOf = (value: unknown): DimensionValue => ({
  key: keyOf(typeof value === 'string' ? value : canonicalJson(value)),
  value,
});

/** The key of a partition, in the form in which record ids are stored. */
const keyOf = (text: string): string => boundedKey(storableText(text));

async function listStored(listing: OpenListing, { step, at: begin }: DimensionListing): Promise<ListPosition> {
  const { store, resource } = listing;
  const { dimension, list } = step;
  const { resource: resourceKey = '', when } = dimension;
  const { source } = await listing.open(step.resource.key);
  const isOwn = step.resource.key === resource.key;
  // In combinations, an unchanged parent may occur with a new value.
  const isAlone = isOwn && source.backfill === null && !comparesCombinations(listing);
  const select = isAlone ? dimension.select : 'all';
  let at = begin;
  if (at.after === null) {
    // The earliest start of all lists: changes after it do not count as seen by this run.
    if (isOwn) at = { ...at, listedAt: earlier(at.listedAt, await store.listingInstant(resourceKey)) };
    at = await unlessComplete(listing, resourceKey, at);
    if (step.begins) await store.clearDimension(list);
  }
  for (;;) {
    const parents = await store.parents(resourceKey, { after: at.after, limit: parentsMax, select });
    const last = parents.at(-1);
    const done = last === undefined || parents.length < parentsMax;
    const known = parents.flatMap(({ externalId, fields }) => (fields === null ? [] : [{ externalId, fields }]));
    if (known.length < parents.length) at = withoutSome(at, 'parents_incomplete');
    const wanted = await holding(known, { predicate: when, recordOf: ({ fields }) => fields, source });
    const values = inKeySpace(
      step,
      wanted.map(({ externalId, fields }) => ({ key: externalId, value: eachOf(dimension, fields) })),
    );
    // Parents may have been forgotten while they were listed.
    if (done) at = await unlessComplete(listing, resourceKey, at);
    const next: ListPosition = done ? following(at) : { ...at, after: last.externalId };
    await store.addToDimension(list, values, next);
    if (done) return next;
    at = next;
  }
}

const unlessComplete = async (
  { store }: Pick<Listing, 'store'>,
  resourceKey: string,
  at: ListPosition,
): Promise<ListPosition> => ((await store.isComplete(resourceKey)) ? at : withoutSome(at, 'parents_incomplete'));

const withoutSome = (at: ListPosition, gap: Gap): ListPosition => ({
  ...at,
  gaps: withGaps(at.gaps, [gap]),
  incomplete: true,
});

const earlier = (one: string | null, other: string): string =>
  one !== null && Date.parse(one) <= Date.parse(other) ? one : other;

async function listLive(listing: OpenListing, part: DimensionListing): Promise<ListPosition | null> {
  const { store } = listing;
  const { step, at: begin } = part;
  const parent = await listing.open(step.dimension.resource ?? '');
  const count = await countCombinations(store, step.within);
  if (step.begins && begin.part === null && begin.read === null) await store.clearDimension(step.list);
  let at = begin;
  for (let no = begin.part?.no ?? 0; no < count; no += 1) {
    const combined = { forEach: parent.resource.forEach, lists: step.within, store };
    const { each } = await combinationAt(combined, no);
    const source = { ...parent.source, each };
    const behind = await listPart({ ...listing, parent: { ...parent, source } }, { ...part, at }, { no, count });
    if (behind === null) return null;
    at = behind;
  }
  if (count > 0) return at;
  const next = following(at);
  await store.addToDimension(step.list, [], next);
  return next;
}

async function listPart(
  { store, parent, resource: child }: Pick<Listing, 'store' | 'resource'> & { readonly parent: OpenResource },
  { step, at: begin, read }: DimensionListing,
  { no, count }: { readonly no: number; readonly count: number },
): Promise<ListPosition | null> {
  const { resource, source } = parent;
  const pick = createFieldPicker(parentFields({ resource: step.resource, http: source.http }, step.dimension));
  const provesEnd = concludesAbsence(child);
  const everything = { ...source, watermark: null, backfill: null, validators: null, provesEnd };
  // A list that starts at `initial` has only some of the parents.
  let at = showsSome(resource) ? { ...begin, gaps: withGaps(begin.gaps, ['parents_incomplete']) } : begin;
  for await (const page of readPages(everything, { ...read, position: begin.read })) {
    const refused = (at.part?.refused ?? 0) + (page.skipped === null ? 0 : 1);
    if (page.skipped !== null && refused === count) throw refusedList(resource, page.skipped);
    const gaps = withGaps(at.gaps, page.gaps);
    at = { ...at, gaps, incomplete: at.incomplete || page.skipped !== null };
    const kept = await holding(page.records, { predicate: resource.filter, recordOf: (record) => record, source });
    const wanted = await holding(kept, { predicate: step.dimension.when, recordOf: (record) => record, source });
    const values = wanted.flatMap((record): DimensionValue[] => {
      const id = externalIdOf(record, resource.primaryKey);
      return id.ok ? [{ key: keyOf(id.externalId), value: eachOf(step.dimension, pick(record)) }] : [];
    });
    if (values.length < wanted.length) at = withoutSome(at, 'key_missing');
    const isLast = page.positionAfter === null;
    const place = { no: isLast ? no + 1 : no, refused };
    const next = isLast && place.no === count ? following(at) : { ...at, read: page.positionAfter, part: place };
    await store.addToDimension(step.list, inKeySpace(step, values), next);
    if (isLast) return next;
    at = next;
  }
  return null;
}

const showsSome = ({ incremental }: Resource): boolean =>
  incremental?.kind === 'cursor' && incremental.initial !== undefined;

/** The value of `each.<as>` for a parent; throws `spec_invalid` if the field that the spec names has no value. */
function eachOf({ as, resource = '', value: path }: PartitionSource, fields: unknown): unknown {
  if (path === undefined) return fields;
  const value = valueAt(fields, path);
  if (value !== undefined && value !== null) return value;
  throw new AppError(
    'spec_invalid',
    `forEach "${as}": a record of ${resource} has no value at "${path}". Leave such records out with \`when\`, or correct \`value\`.`,
  );
}

/** Without its parents, a run would silently skip their children. */
const refusedList = ({ key }: Pick<Resource, 'key'>, reason: string) =>
  new AppError(
    'source_rejected',
    `The API rejected the list of ${key}: ${reason}. The calls of the run show its responses.`,
  );

/** The items for which the predicate holds; throws `spec_invalid` if it fails on one. */
async function holding<Item>(
  items: readonly Item[],
  options: {
    readonly predicate: string | undefined;
    readonly recordOf: (item: Item) => unknown;
    readonly source: Omit<Source, 'watermark'>;
  },
): Promise<readonly Item[]> {
  const { predicate, recordOf, source } = options;
  if (predicate === undefined || items.length === 0) return items;
  const evaluateEach = createEvaluateEach(source);
  const results = await evaluateEach(`$boolean((${predicate}\n))`, items.map(recordOf));
  return items.filter((_item, index) => {
    const result = results[index];
    if (result?.ok) return result.value === true;
    throw new AppError('spec_invalid', `A condition on parent records fails: ${result?.message ?? 'no detail'}`);
  });
}
