import type { ConnectorSpec, Resource } from '../schema/spec-schema.ts';
import { eachFieldsIn } from './each-fields.ts';
import { fieldsIn } from './mentions.ts';
import { type PartitionSource, sourcesOf } from './partition-sources.ts';

/** Names of the fields of a parent record that its children refer to; `all`: some expression may read any of them. */
export type StoredFields = 'all' | readonly string[];

/** The fields stored of each record of a resource for those read once per record of it; null: there are none. */
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

/** The fields of a parent record that a resource, or what its requests share, refers to by one of its dimensions. */
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

/** A name with dots may be that of a field. */
const ownNames = (path: string): readonly string[] => [...new Set([path.split('.', 1)[0] ?? path, path])];

/** The fields of `each.<as>` that a resource, or what its requests share, refers to. */
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
