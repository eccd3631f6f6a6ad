import type { QuarantineRow } from '../../src/core/resources/quarantine.ts';
import type { AuditedDestination } from '../support/destinations/audit.ts';
import { isWanted } from './api.ts';
import type { ResourceGenes } from './genes.ts';
import type { Story } from './story.ts';

/** A row as both tables are compared: without columns of the service, nulls and ignored fields. */
type Row = Readonly<Record<string, unknown>>;

interface Compared {
  readonly story: Story;
  readonly resource: ResourceGenes;
  readonly fresh: AuditedDestination;
  readonly quarantined: readonly QuarantineRow[];
  readonly freshQuarantined: readonly QuarantineRow[];
  /** The parents that the fresh connection has. */
  readonly parents: ReadonlySet<string>;
}

/** The differences between both tables of a resource, and the ids of the fresh one. */
export async function compareTables(
  compared: Compared,
): Promise<{ readonly ids: readonly string[]; readonly differences: readonly string[] }> {
  const { story, resource, fresh } = compared;
  const [found, expected] = [await rowsOf(story.destination, resource), await rowsOf(fresh, resource)];
  const differences: string[] = [];
  for (const id of new Set([...found.keys(), ...expected.keys()])) {
    const difference = differenceOf(compared, id, { found: found.get(id), expected: expected.get(id) });
    if (difference !== null) differences.push(`${resource.key} ${id}: ${difference}`);
  }
  return { ids: [...expected.keys()], differences: [...differences, ...freshDifferences(compared, expected)] };
}

async function rowsOf(destination: AuditedDestination, { key, mode, change }: ResourceGenes) {
  const rows = new Map<string, Row>();
  const [table] = await destination.query<{ readonly name: string | null }>(`select to_regclass('${key}') as name`);
  if (table?.name === null) return rows;
  const order = mode === 'append' ? 'order by _seq' : '';
  const isOurs = (name: string): boolean =>
    name.startsWith('_') || name === 'of_the_customer' || (name === 'noise' && change.ignoresNoise);
  for (const row of await destination.query<Record<string, unknown>>(`select * from ${key} ${order}`)) {
    const id = String(row['_external_id']);
    if (row['_external_id'] === null) continue;
    if (row['_deleted_at'] !== null && row['_deleted_at'] !== undefined) rows.delete(id);
    else
      rows.set(id, Object.fromEntries(Object.entries(row).filter(([name, value]) => !isOurs(name) && value !== null)));
  }
  return rows;
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

function differenceOf(compared: Compared, id: string, { found, expected }: Pair): string | null {
  const { story, resource, quarantined, freshQuarantined } = compared;
  const isShaped = story.shaped.has(resource.key);
  const record = story.api.records.find(resource.key, id);
  const isKept = quarantined.some((row) => row.externalId === id && revOf(row.rawJson) === String(record?.rev));
  if (found && expected) {
    if (textOf(found) === textOf(expected)) return null;
    if (isKept || (isShaped && isOldShape(resource) && revOf(found) === revOf(expected))) return null;
    return `is ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`;
  }
  if (expected) return isKept || (isShaped && isOldShape(resource)) ? null : `is missing: ${JSON.stringify(expected)}`;
  if (isShaped && isOldShape(resource)) return null;
  if (freshQuarantined.some((row) => row.externalId === id))
    return isKept ? null : `is invalid now, but neither in quarantine: ${JSON.stringify(found)}`;
  if (isSkipped(resource, record?.fields['price']) || mayStay(compared, id)) return null;
  return `must not be there: ${JSON.stringify(found)}`;
}

/** A row of an earlier shape may stay only where unchanged records are not read again. */
const isOldShape = ({ cursor, each }: ResourceGenes): boolean => cursor !== null || each?.select === 'changed';

const isSkipped = ({ validate, onInvalid }: ResourceGenes, price: unknown): boolean =>
  onInvalid === 'skip' && validate === 'strict' && Number(price) < 0;

/** Whether the spec has no way to notice that a record is no longer there. */
function mayStay(compared: Compared, id: string): boolean {
  const { story, resource } = compared;
  const { deletes, mode, key, filter } = resource;
  const record = story.api.records.find(key, id);
  if (mode === 'replace') return false;
  if (deletes.mode === 'none') return true;
  if (deletes.mode === 'full_scan') return deletes.scope === 'partition' && hadOtherPlace(compared, id);
  if (deletes.mode === 'flag') return !record || !isListed(compared, id) || filter !== 'none';
  return record !== undefined || hadOtherPlace(compared, id);
}

/** The places that the spec reads; null: all. */
function placesOf({ story, resource, parents }: Compared): ReadonlySet<string> | null {
  if (!resource.each) return null;
  return resource.each.from === 'values' ? new Set(story.params.groups) : parents;
}

function hadOtherPlace(compared: Compared, id: string): boolean {
  const places = placesOf(compared);
  const had = compared.story.api.records.placesOf(compared.resource.key, id);
  return places !== null && [...had].some((place) => !places.has(place));
}

/** Whether the requests of the spec show the record. */
function isListed(compared: Compared, id: string): boolean {
  const { story, resource } = compared;
  const { records } = story.api;
  const record = records.find(resource.key, id);
  if (!record) return false;
  const query = new URLSearchParams(resource.byArea ? { area: story.params.area } : {});
  const places = placesOf(compared);
  if (places) query.set(resource.each?.from === 'values' ? 'group' : 'parent', [...places].join(','));
  return isWanted(records, { name: resource.key, record, query });
}

/** What the fresh connection itself lacks or has too much; only where the API alone decides it. */
function freshDifferences(compared: Compared, expected: ReadonlyMap<string, Row>): readonly string[] {
  const { story, resource, freshQuarantined } = compared;
  const { key, cursor, filter, deletes, validate } = resource;
  if (cursor?.initial === 'now-P7D') return [];
  const kept = new Set(freshQuarantined.map(({ externalId }) => externalId));
  const isWantedOf = (id: string, fields: Row): boolean =>
    isListed(compared, id) &&
    !(deletes.mode === 'flag' && fields['status'] === 'deleted') &&
    (filter === 'none' || (filter === 'status' ? fields['status'] !== 'test' : Number(fields['price']) < 60)) &&
    !(validate === 'strict' && Number(fields['price']) < 0);
  const wanted = story.api.records.all(key).filter(({ id, fields }) => isWantedOf(id, fields) && !kept.has(id));
  const ids = new Set(wanted.map(({ id }) => id));
  return [
    ...wanted.filter(({ id }) => !expected.has(id)).map(({ id }) => `${key} ${id}: a fresh connection lacks it`),
    ...[...expected.keys()].filter((id) => !ids.has(id)).map((id) => `${key} ${id}: a fresh connection has it`),
  ];
}
