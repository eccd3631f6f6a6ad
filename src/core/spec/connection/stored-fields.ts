import type { ConnectorSpec, Resource } from '../schema/spec-schema.ts';
import { eachFieldsIn } from './each-fields.ts';
import { fieldsIn } from './mentions.ts';
import { type PartitionSource, sourcesOf } from './partition-sources.ts';

/** Names of parent fields that children refer to; `all` if an expression may read any. */
export type StoredFields = 'all' | readonly string[];

/** Fields stored of each record for the resources that are read once per record; `null` if there are no such resources. */
export function storedFieldsOf(
  spec: Pick<ConnectorSpec, 'http' | 'resources'>,
  resourceKey: string,
): StoredFields | null {
  const uses = spec.resources.flatMap((child) =>
    child.forEach
      .flatMap(sourcesOf)
      .filter((dimension) => dimension.resource === resourceKey && dimension.from === 'store')
      .map((dimension) => parentFields({ resource: child, http: spec.http }, dimension)),
  );
  if (uses.length === 0) return null;
  const named = uses.flatMap((fields) => (fields === 'all' ? [] : fields));
  return uses.includes('all') ? 'all' : [...new Set(named)].toSorted();
}

/** Parent fields that a resource, or settings shared by its requests, reads through one of its dimensions. */
export function parentFields(
  { resource, http }: { readonly resource: Resource; readonly http: ConnectorSpec['http'] },
  dimension: PartitionSource,
): StoredFields {
  const named =
    dimension.value === undefined ? fieldsOfEach(dimension.as, { resource, http }) : ownNames(dimension.value);
  if (named === 'all') return 'all';
  const chosenBy = dimension.when === undefined ? [] : fieldsIn(dimension.when);
  return chosenBy === 'all' ? 'all' : [...new Set([...named, ...chosenBy])];
}

/** A dotted name may also be a field by itself. */
const ownNames = (path: string): readonly string[] => [...new Set([path.split('.', 1)[0] ?? path, path])];

function fieldsOfEach(
  as: string,
  { resource, http }: { readonly resource: Resource; readonly http: ConnectorSpec['http'] },
): StoredFields {
  const fields = eachFieldsIn(textsOf([{ ...resource, name: '', description: '' }, http]));
  return fields === 'all' ? 'all' : (fields.get(as) ?? []);
}

function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}
