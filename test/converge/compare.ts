import type { QuarantineRow } from '../../src/core/resources/quarantine.ts';
import { isWanted } from './api.ts';
import { ofCustomer } from './customer-acts.ts';
import type { ComparedRow as Row, StoryDestination } from './destinations.ts';
import { collectionOf, isIncremental, type ResourceGenes } from './genes.ts';
import type { ApiRecord } from './records.ts';
import type { Story } from './story.ts';

interface Compared {
  readonly story: Story;
  readonly resource: ResourceGenes;
  readonly fresh: StoryDestination;
  readonly quarantined: readonly QuarantineRow[];
  readonly freshQuarantined: readonly QuarantineRow[];
  /** Quarantine of the resource that updates the rows. */
  readonly updatesQuarantined: readonly QuarantineRow[];
  /** The parents that the fresh connection has. */
  readonly parents: ReadonlySet<string>;
}

/** The differences between both tables of a resource, and the ids of the fresh one. */
export async function compareTables(
  compared: Compared,
): Promise<{ readonly ids: readonly string[]; readonly differences: readonly string[] }> {
  const { story, resource, fresh } = compared;
  if (resource.key === 'prices') return { ids: [], differences: [] };
  const [found, expected] = [await story.destination.rows(resource), await fresh.rows(resource)];
  const differences: string[] = [];
  const invalid = compared.freshQuarantined.map(({ externalId }) => externalId);
  for (const id of new Set([...found.keys(), ...expected.keys(), ...invalid])) {
    const difference = differenceOf(compared, id, { found: found.get(id), expected: expected.get(id) });
    if (difference !== null) differences.push(`${resource.key} ${id}: ${difference}`);
  }
  return { ids: [...expected.keys()], differences: [...differences, ...freshDifferences(compared, expected)] };
}

const textOf = (row: Row): string =>
  Object.entries(row)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .toSorted()
    .join();

const revOf = (row: unknown): unknown =>
  typeof row === 'object' && row !== null && 'rev' in row ? String(row.rev) : undefined;

interface Pair {
  readonly found: Row | undefined;
  readonly expected: Row | undefined;
}

/**
 * Without what nobody can take back: what `update` wrote of a record that it no longer reads, and what a column has by
 * the customer's own default where a record does not give it. Nor with an update that is in quarantine.
 */
function withoutPast({ found, expected }: Pair, record: ApiRecord | undefined, isUpdateKept: boolean): Pair {
  if (!found || !expected) return { found, expected };
  const { bonus, note, ...rest } = found;
  const { bonus: expectedBonus, ...expectedRest } = expected;
  const isDefault = note === ofCustomer && record !== undefined && !('note' in record.fields);
  const isUpdated = expectedBonus !== undefined && !isUpdateKept;
  return {
    found: {
      ...rest,
      ...(isUpdated && bonus !== undefined && { bonus }),
      ...(!isDefault && note !== undefined && { note }),
    },
    expected: isUpdated ? expected : expectedRest,
  };
}

function differenceOf(compared: Compared, id: string, pair: Pair): string | null {
  const { story, resource, quarantined, freshQuarantined } = compared;
  const isShaped = story.shaped.has(resource.key);
  const record = recordOf(compared, id);
  const isIn = (rows: readonly QuarantineRow[]): boolean =>
    rows.some((row) => row.externalId === id && revOf(row.rawJson) === String(record?.rev));
  const isKept = isIn(quarantined);
  const { found, expected } = withoutPast(pair, record, isIn(compared.updatesQuarantined));
  if (found && expected) {
    if (textOf(found) === textOf(expected)) return openRowOf(compared, id);
    if (isKept || (isShaped && isIncremental(resource) && revOf(found) === revOf(expected))) return null;
    // A version that is tried again comes behind those that came meanwhile.
    if (resource.mode === 'append' && story.hasRequeued && Number(revOf(found)) < Number(revOf(expected))) return null;
    return `is ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`;
  }
  if (expected)
    return isKept || (isShaped && isIncremental(resource)) ? null : `is missing: ${JSON.stringify(expected)}`;
  if (isShaped && isIncremental(resource)) return null;
  if (freshQuarantined.some((row) => row.externalId === id))
    return isKept ? null : `is invalid now, but not in quarantine: ${JSON.stringify(found ?? null)}`;
  if (isSkipped(resource, record?.fields['price']) || mayStay(compared, id)) return null;
  return `must not be there: ${JSON.stringify(found)}`;
}

/** Of a record that is delivered as it is no row is open, unless each version counts or a receiver left it in doubt. */
function openRowOf({ story, resource, quarantined, freshQuarantined }: Compared, id: string): string | null {
  const isOpen = (rows: readonly QuarantineRow[]): boolean => rows.some(({ externalId }) => externalId === id);
  if (resource.mode === 'append' || story.destination.sink) return null;
  if (!isOpen(quarantined) || isOpen(freshQuarantined)) return null;
  return 'is delivered, and is in quarantine';
}

/** The record of an external id, which has a second field where the primary key has. */
const idOf = (external: string): string => (external.startsWith('[') ? String(JSON.parse(external)[0]) : external);

const recordOf = ({ story, resource }: Compared, external: string): ApiRecord | undefined =>
  story.api.records.find(collectionOf(resource.key), idOf(external));

const isSkipped = ({ validate, onInvalid }: ResourceGenes, price: unknown): boolean =>
  onInvalid === 'skip' && validate === 'strict' && Number(price) < 0;

/** Whether the spec has no way to notice that a record is no longer there. */
function mayStay(compared: Compared, id: string): boolean {
  const { resource, story } = compared;
  const { deletes, mode, filter, token, wideKey } = resource;
  // Nobody can ask a receiver what it has.
  if (story.wasElsewhere && story.genes.destination === 'webhook') return true;
  const record = recordOf(compared, id);
  if (mode === 'replace') return false;
  if (deletes.mode === 'none') return true;
  // A row under the primary key of an earlier version.
  const isCompared = deletes.mode === 'full_scan' && story.genes.destination !== 'webhook';
  if (!isCompared && id.startsWith('[') !== wideKey) return true;
  if (token) return record !== undefined && (!isListed(compared, id) || filter !== 'none');
  if (deletes.mode === 'full_scan') return deletes.scope === 'partition' && hadOtherPlace(compared, id);
  // One that is still listed has left the filter, which its last read has shown.
  if (deletes.mode === 'flag') return !record || !isListed(compared, id);
  return (record !== undefined && !isListed(compared, id)) || hadOtherPlace(compared, id);
}

/** The places that the spec reads; null: all. */
function placesOf({ story, resource, parents }: Compared): ReadonlySet<string> | null {
  if (!resource.each) return null;
  return resource.each.from === 'values' ? new Set(story.params.groups) : parents;
}

function hadOtherPlace(compared: Compared, id: string): boolean {
  const places = placesOf(compared);
  const had = compared.story.api.records.placesOf(collectionOf(compared.resource.key), idOf(id));
  return places !== null && [...had].some((place) => !places.has(place));
}

/** Whether the requests of the spec show the record. */
function isListed(compared: Compared, id: string): boolean {
  const { story, resource } = compared;
  const { records } = story.api;
  const record = recordOf(compared, id);
  if (!record) return false;
  const parent = resource.each?.sendsRegion ? records.find('parents', String(record.fields['parent'])) : undefined;
  if (parent && parent.fields['region'] !== record.fields['region']) return false;
  const query = new URLSearchParams(resource.byArea ? { area: story.params.area } : {});
  const places = placesOf(compared);
  if (places) query.set(resource.each?.from === 'values' ? 'group' : 'parent', [...places].join(','));
  return isWanted(records, { name: collectionOf(resource.key), record, query });
}

/** Whether the filter keeps a record. */
const isKeptBy = ({ filter }: ResourceGenes, fields: ApiRecord['fields']): boolean =>
  filter === 'none' || (filter === 'status' ? fields['status'] !== 'test' : Number(fields['price']) < 60);

/** Whether the requests of a resource show a record, and its filter keeps it; parents decide nothing. */
export function isListedBy({ api, params }: Story, resource: ResourceGenes, record: ApiRecord): boolean {
  const query = new URLSearchParams({
    ...(resource.byArea && { area: params.area }),
    ...(resource.each?.from === 'values' && { group: params.groups.join() }),
  });
  return (
    isWanted(api.records, { name: collectionOf(resource.key), record, query }) && isKeptBy(resource, record.fields)
  );
}

/** What the fresh connection itself lacks or has too much; only where the API alone decides it. */
function freshDifferences(compared: Compared, expected: ReadonlyMap<string, Row>): readonly string[] {
  const { story, resource, freshQuarantined } = compared;
  const { key, cursor, deletes, validate } = resource;
  // Which parents are read live is not seen in a table.
  if (cursor?.initial === 'now-P7D' || resource.each?.from === 'live') return [];
  const kept = new Set(freshQuarantined.map(({ externalId }) => idOf(externalId)));
  const isWantedOf = (id: string, fields: Row): boolean =>
    isListed(compared, id) &&
    !(deletes.mode === 'flag' && fields['status'] === 'deleted') &&
    isKeptBy(resource, fields) &&
    !(validate === 'strict' && Number(fields['price']) < 0);
  const wanted = story.api.records
    .all(collectionOf(key))
    .filter(({ id, fields }) => isWantedOf(id, fields) && !kept.has(id));
  const ids = new Set(wanted.map(({ id }) => id));
  const got = new Set([...expected.keys()].map(idOf));
  return [
    ...wanted.filter(({ id }) => !got.has(id)).map(({ id }) => `${key} ${id}: a fresh connection lacks it`),
    ...[...got].filter((id) => !ids.has(id)).map((id) => `${key} ${id}: a fresh connection has it`),
  ];
}
