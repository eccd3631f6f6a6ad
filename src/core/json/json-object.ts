import * as v from 'valibot';

/** A JSON object with any keys; its values have passed the document gate. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Already passed the document gate, so it is not walked again. */
export const JsonValue = v.unknown();

/** Like valibot's `record`, but an array is refused. */
export function mapOf<
  const Key extends v.BaseSchema<string, string, v.BaseIssue<unknown>>,
  const Value extends v.GenericSchema,
>(key: Key, value: Value): v.RecordSchema<Key, Value, undefined> {
  const schema = v.record(key, value);
  const run = schema['~run'];
  return Object.assign(schema, {
    '~run': ((dataset, config) => run.call(schema, refuseArray(dataset), config)) satisfies typeof run,
  });
}

/** Valibot takes an array for an object without keys; `false` in its place gets the right issue. */
export const refuseArray = (dataset: v.UnknownDataset): v.UnknownDataset =>
  Array.isArray(dataset.value) ? { ...dataset, value: false } : dataset;

export const JsonObject = mapOf(v.string(), JsonValue);
