/** The partitions of a run: every combination of the values of `forEach`, listed once and kept for the whole run. */
import { AppError } from '../errors.ts';
import { renderTemplate } from '../expressions/template.ts';
import { canonicalJson } from '../pipeline/canonical-json.ts';
import { createFieldPicker } from '../pipeline/stored-fields.ts';
import { createEvaluateEach } from '../source/evaluate-each.ts';
import { boundedKey, externalIdOf } from '../source/external-id.ts';
import { type ReadOptions, readPages } from '../source/read-pages.ts';
import type { Source } from '../source/source.ts';
import type { Resource } from '../spec/schema.ts';
import { parentFields } from '../spec/stored-fields.ts';
import type { RunPosition } from './run-position.ts';
import type { DimensionValue, RunStore } from './run-store.ts';

type Dimension = Resource['forEach'][number];
type ListPosition = Extract<RunPosition, { readonly stage: 'list' }>;

/** What listing needs. */
export interface Listing {
  readonly resource: Resource;
  /** Of the run's own resource. */
  readonly source: Omit<Source, 'watermark'>;
  readonly store: RunStore;
  /** A parent resource, ready to be read. */
  openParent(resourceKey: string): Promise<{ readonly resource: Resource; readonly source: Omit<Source, 'watermark'> }>;
}

/** Stored parents that are looked at together. */
const parentsMax = 1000;

/**
 * Lists the dimensions from `position` on. Each part is kept with the position behind it, so that a later attempt does
 * not list it again.
 *
 * @returns the position behind the last dimension; null: enough for now. Throws as reading pages does, `spec_invalid`.
 */
export async function listPartitions(
  listing: Listing,
  position: ListPosition,
  read: Omit<ReadOptions, 'position'>,
): Promise<ListPosition | null> {
  let at: ListPosition | null = position;
  while (at !== null) {
    const dimension: Dimension | undefined = listing.resource.forEach[at.dimension];
    if (dimension === undefined) return at;
    at = await listDimension(listing, { dimension, at, read });
  }
  return null;
}

interface DimensionListing {
  readonly dimension: Dimension;
  readonly at: ListPosition;
  readonly read: Omit<ReadOptions, 'position'>;
}

function listDimension(listing: Listing, part: DimensionListing): Promise<ListPosition | null> {
  const { dimension } = part;
  if (dimension.resource === undefined) return listValues(listing, part);
  return dimension.from === 'live' ? listLive(listing, part) : listStored(listing, part);
}

const following = (at: ListPosition): ListPosition => ({ ...at, dimension: at.dimension + 1, after: null, read: null });

async function listValues({ source, store }: Listing, { dimension, at }: DimensionListing): Promise<ListPosition> {
  const { params, lookups, run, evaluator } = source;
  const roots = { params, lookups, run, auth: {} };
  const options = { evaluator, now: new Date(run.startedAt), missing: 'omit' } as const;
  const values = await renderTemplate(dimension.values, roots, options);
  if (!Array.isArray(values)) {
    throw new AppError('spec_invalid', `forEach "${dimension.as}" gives no list. Correct its values in the spec.`);
  }
  const next = following(at);
  await store.clearDimension(at.dimension);
  await store.addToDimension(at.dimension, values.map(valueOf), next);
  return next;
}

const valueOf = (value: unknown): DimensionValue => ({
  key: boundedKey(typeof value === 'string' ? value : canonicalJson(value)),
  value,
});

async function listStored({ source, store }: Listing, part: DimensionListing): Promise<ListPosition> {
  const { dimension, at: begin } = part;
  const { resource: resourceKey = '', when } = dimension;
  // A backfill reads the past of those, too, that did not change.
  const select = source.backfill === null ? dimension.select : 'all';
  const listedAt = begin.listedAt ?? (await store.listingInstant(resourceKey));
  let at: ListPosition = { ...begin, listedAt };
  if (at.after === null) await store.clearDimension(at.dimension);
  for (;;) {
    const parents = await store.parents(resourceKey, { after: at.after, limit: parentsMax, select });
    const last = parents.at(-1);
    const done = last === undefined || parents.length < parentsMax;
    const wanted = await holding(parents, { predicate: when, recordOf: ({ fields }) => fields, source });
    const values = wanted.map(({ externalId, fields }) => ({ key: externalId, value: fields }));
    const next: ListPosition = done ? following(at) : { ...at, after: last.externalId };
    await store.addToDimension(at.dimension, values, next);
    if (done) return next;
    at = next;
  }
}

async function listLive(listing: Listing, part: DimensionListing): Promise<ListPosition | null> {
  const { store, resource } = listing;
  const { dimension, at: begin, read } = part;
  let at = begin;
  const { resource: parent, source } = await listing.openParent(dimension.resource ?? '');
  const pick = createFieldPicker(parentFields({ resource, http: source.http }, dimension));
  if (begin.read === null) await store.clearDimension(begin.dimension);
  const everything = { ...source, watermark: null, backfill: null, validators: null };
  for await (const page of readPages(everything, { ...read, position: begin.read })) {
    if (page.skipped !== null) throw refused(parent, page.skipped);
    at = { ...at, gaps: at.gaps || page.recordsMissing };
    const kept = await holding(page.records, { predicate: parent.filter, recordOf: (record) => record, source });
    const wanted = await holding(kept, { predicate: dimension.when, recordOf: (record) => record, source });
    const values = wanted.flatMap((record): DimensionValue[] => {
      const id = externalIdOf(record, parent.primaryKey);
      return id.ok ? [{ key: id.externalId, value: pick(record) }] : [];
    });
    const next = page.positionAfter === null ? following(at) : { ...at, read: page.positionAfter };
    await store.addToDimension(begin.dimension, values, next);
    if (page.positionAfter === null) return next;
  }
  return null;
}

/** Without its parents a run would pass their children by as if there were none. */
const refused = ({ key }: Pick<Resource, 'key'>, reason: string) =>
  new AppError(
    'source_rejected',
    `The API refused the list of ${key}: ${reason}. The calls of the run show its answers.`,
  );

/** Those for which the predicate holds. Throws `spec_invalid` when it fails on one. */
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
  const evaluateEach = createEvaluateEach({ ...source, each: {} });
  const results = await evaluateEach(`$boolean((${predicate}\n))`, items.map(recordOf));
  return items.filter((_item, index) => {
    const result = results[index];
    if (result?.ok) return result.value === true;
    throw new AppError('spec_invalid', `A condition on parent records fails: ${result?.message ?? 'no detail'}`);
  });
}
