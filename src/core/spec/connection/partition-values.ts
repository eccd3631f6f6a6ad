import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../json/json-object.ts';
import type { ConnectorSpec, Resource } from '../schema/spec-schema.ts';
import { mentionsAt, valuesOf } from './mentions.ts';
import { sourcesOf } from './partition-sources.ts';
import { listsPartitions, lookupDefinition } from './read-definition.ts';

interface Listing {
  readonly spec: ConnectorSpec;
  readonly resource: Resource;
  readonly params: JsonObject;
}

/**
 * Whether partitions that a resource lists itself may have disappeared; those from records of other resources do not
 * count.
 */
export function mayLosePartitions(before: Listing, after: Listing): boolean {
  const [old, now] = [listingOf(before), listingOf(after)];
  if (!isDeepStrictEqual([old.values, old.lookups], [now.values, now.lookups])) return true;
  const kept = ([name, value]: readonly [string, unknown]): boolean => {
    const next = now.params[name];
    if (isDeepStrictEqual(value, next)) return true;
    // A longer list of plain values only adds partitions.
    const isPlain = old.values.flat().every((text) => !mentions(text, name) || isParam(text, name));
    return isPlain && Array.isArray(value) && Array.isArray(next) && value.every((one) => next.includes(one));
  };
  return !Object.entries(old.params).every(kept);
}

const mentions = (text: unknown, name: string): boolean => JSON.stringify(text ?? '').includes(name);

const isParam = (text: unknown, name: string): boolean =>
  typeof text === 'string' && /^\{\{\s*params\.(\w+)\s*\}\}$/.exec(text)?.[1] === name;

function listingOf({ spec, resource, params }: Listing) {
  const own = `resources.${spec.resources.indexOf(resource)}.`;
  const { params: names, lookups } = mentionsAt(spec, (at) => at.startsWith(own) && listsPartitions(at));
  return {
    values: resource.forEach.map((dimension) => sourcesOf(dimension).map(({ values }) => values)),
    params: valuesOf(names, params),
    lookups: lookups.map(lookupDefinition),
  };
}
