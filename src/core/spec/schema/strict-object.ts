import * as v from 'valibot';
import { isJsonObject } from '../../json/is-json-object.ts';
import { type JsonObject, refuseArray } from '../../json/json-object.ts';
import { nearestName } from './nearest-name.ts';

export type StrictObject<Entries extends v.ObjectEntries> = v.StrictObjectSchema<Entries, undefined>;

/**
 * An object schema that reports every unknown key; valibot's strictObject stops at the first. Keys that start with `x-`
 * are allowed and left out of the output. An array is not an object.
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

/** The author's own note, which the service ignores. */
const isExtensionKey = (key: string): boolean => key.startsWith('x-');

/** At most as many as can be reported. */
function unknownKeys(input: JsonObject, entries: v.ObjectEntries): string[] {
  const unknown = Object.keys(input).filter((key) => !Object.hasOwn(entries, key) && !isExtensionKey(key));
  return unknown.slice(0, 100);
}

function unknownMessage(key: string, entries: v.ObjectEntries): string {
  const near = nearestName(key, Object.keys(entries));
  const name = `unknown property \`${key.slice(0, 100)}\``;
  return near === null ? `${name}; remove it, or start its name with \`x-\`` : `${name}; did you mean \`${near}\`?`;
}
