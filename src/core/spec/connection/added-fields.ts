import type { Resource } from '../schema/spec-schema.ts';

type Added = Readonly<Record<string, string>>;

/** The definitions in `addFields` of fields that some dotted paths are read from. */
export function addedFields({ response: { addFields } }: Pick<Resource, 'response'>, paths: readonly string[]): Added {
  const names = new Set(paths.flatMap((path) => [path, path.split('.', 1)[0] ?? path]));
  return Object.fromEntries(Object.entries(addFields).filter(([name]) => names.has(name)));
}

/** Those that the primary key is read from; empty: the API gives all of it. */
export const keyFields = (resource: Pick<Resource, 'response' | 'primaryKey'>): Added =>
  addedFields(resource, resource.primaryKey);

/** The resource as if it added these fields only. */
export const withAdded = (resource: Resource, addFields: Added): Resource => ({
  ...resource,
  response: { ...resource.response, addFields },
});
