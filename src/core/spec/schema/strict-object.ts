import * as v from 'valibot';
import { isJsonObject } from '../../json/is-json-object.ts';
import { type JsonObject, refuseArray } from '../../json/json-object.ts';
import { nearestName } from './nearest-name.ts';

/** An object schema that refuses unknown keys; see {@link strictObject}. */
export type StrictObject<Entries extends v.ObjectEntries> = v.StrictObjectSchema<Entries, undefined>;

/**
 * An object of a ConnectorSpec: every unknown key is an issue of its own (valibot's strictObject stops at the
 * first), except names that start with `x-`, which are left out of the output. An array is not an object.
 */
export function strictObject<const Entries extends v.ObjectEntries>(entries: Entries): StrictObject<Entries> {
  const known = v.object(entries);
  const schema = v.strictObject(entries);
  return Object.assign(schema, {
    '~run': ((dataset, config) => {
      const input = dataset.value;
      const result = known['~run'](refuseArray(dataset), config);
      if (!isJsonObject(input)) return result;
      for (const key of unknownKeys(input, entries)) {
        v._addIssue(schema, 'key', result, config, {
          input: key,
          message: unknownMessage(key, entries),
          path: [{ type: 'object', origin: 'key', input, key, value: input[key] }],
        });
      }
      return result;
    }) satisfies StrictObject<Entries>['~run'],
  });
}

/** A key that starts with `x-` is the author's own note and means nothing to the service. */
const isExtensionKey = (key: string): boolean => key.startsWith('x-');

/** No more than can be reported. */
function unknownKeys(input: JsonObject, entries: v.ObjectEntries): string[] {
  const unknown = Object.keys(input).filter((key) => !Object.hasOwn(entries, key) && !isExtensionKey(key));
  return unknown.slice(0, 100);
}

function unknownMessage(key: string, entries: v.ObjectEntries): string {
  const near = nearestName(key, Object.keys(entries));
  const name = `unknown property \`${key.slice(0, 100)}\``;
  return near === null ? `${name}; remove it, or start its name with \`x-\`` : `${name}; did you mean \`${near}\`?`;
}
