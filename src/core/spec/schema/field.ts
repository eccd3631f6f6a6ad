import * as v from 'valibot';

/**
 * A part of a spec with the text that editors and the reference show: what it does, its unit, what its absence means.
 * The examples are values that the validator accepts.
 */
export const field = <const S extends v.GenericSchema>(
  schema: S,
  description: string,
  ...examples: readonly unknown[]
) => v.pipe(schema, v.metadata(examples.length === 0 ? { description } : { description, examples }));

/** A whole number of this range, both ends included. */
export const wholeNumber = (min: number, max: number) =>
  v.pipe(v.number(), v.safeInteger(), v.minValue(min), v.maxValue(max));

/** A condition of JSON Schema, for `metadata`: where a document fits the one, it must fit the other. */
export const when = (condition: object, rule: object) => ({ if: { not: condition }, else: rule });
