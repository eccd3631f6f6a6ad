import type { Resource } from '../schema/spec-schema.ts';

type Added = Readonly<Record<string, string>>;

/** Definitions in `addFields` of the fields that some dotted paths read from. */
export function addedFields({ response: { addFields } }: Pick<Resource, 'response'>, paths: readonly string[]): Added {
  const names = new Set(paths.flatMap((path) => [path, path.split('.', 1)[0] ?? path]));
  return Object.fromEntries(Object.entries(addFields).filter(([name]) => names.has(name)));
}

/** Added fields that the primary key reads from; empty if the API supplies all of it. */
export const keyFields = (resource: Pick<Resource, 'response' | 'primaryKey'>): Added =>
  addedFields(resource, resource.primaryKey);

export const withAdded = (resource: Resource, addFields: Added): Resource => ({
  ...resource,
  response: { ...resource.response, addFields },
});
