import type { JsonObject } from '../../json/json-object.ts';
import type { ConnectorSpec, Resource } from '../schema/spec-schema.ts';
import { mentionsAt, valuesOf } from './mentions.ts';
import { sourcesOf } from './partition-sources.ts';
import { listsPartitions, lookupDefinition } from './read-definition.ts';

/** What the listed partitions of a resource follow from, as JSON; those of other resources' records not counted. */
export function partitionValues(spec: ConnectorSpec, resource: Resource, params: JsonObject): unknown {
  const own = `resources.${spec.resources.indexOf(resource)}.`;
  const { params: names, lookups } = mentionsAt(spec, (at) => at.startsWith(own) && listsPartitions(at));
  return [
    resource.forEach.map((dimension) => sourcesOf(dimension).map(({ values }) => values)),
    valuesOf(names, params),
    lookups.map(lookupDefinition),
  ];
}
