import * as v from 'valibot';
import { nearestName } from './nearest-name.ts';

/** An object schema that refuses unknown keys; see {@link strictObject}. */
export type StrictObject<Entries extends v.ObjectEntries> = v.StrictObjectSchema<Entries, undefined>;

/**
 * An object of a ConnectorSpec: every unknown key is an issue of its own (valibot's strictObject stops at the
 * first), except names that start with `x-`, which are left out of the output. A list is not an object.
 */
export function strictObject<const Entries extends v.ObjectEntries>(entries: Entries): StrictObject<Entries> {
  const known = v.object(entries);
  const schema = v.strictObject(entries);
  return Object.assign(schema, {
    '~run': ((dataset, config) => {
      const input = dataset.value;
      const result = known['~run'](refuseList(dataset), config);
      if (!isPlainObject(input)) return result;
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

/** An object with any keys of one kind; unlike valibot's record, a list is not one. */
export function mapOf<
  const Key extends v.BaseSchema<string, string, v.BaseIssue<unknown>>,
  const Value extends v.GenericSchema,
>(key: Key, value: Value): v.RecordSchema<Key, Value, undefined> {
  const schema = v.record(key, value);
  const run = schema['~run'];
  return Object.assign(schema, {
    '~run': ((dataset, config) => run.call(schema, refuseList(dataset), config)) satisfies typeof run,
  });
}

/** A key that starts with `x-` is the author's own note and means nothing to the service. */
const isExtensionKey = (key: string): boolean => key.startsWith('x-');

/** Valibot takes a list for an object without keys; a value that is no object at all gets the right issue. */
const refuseList = (dataset: v.UnknownDataset): v.UnknownDataset =>
  Array.isArray(dataset.value) ? { ...dataset, value: false } : dataset;

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** No more than can be reported. */
function unknownKeys(input: Record<string, unknown>, entries: v.ObjectEntries): string[] {
  const unknown = Object.keys(input).filter((key) => !Object.hasOwn(entries, key) && !isExtensionKey(key));
  return unknown.slice(0, 100);
}

function unknownMessage(key: string, entries: v.ObjectEntries): string {
  const near = nearestName(key, Object.keys(entries));
  const name = `unknown property \`${key.slice(0, 100)}\``;
  return near === null ? `${name}; remove it, or start its name with \`x-\`` : `${name}; did you mean \`${near}\`?`;
}
