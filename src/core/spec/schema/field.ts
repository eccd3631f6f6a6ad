import * as v from 'valibot';

/**
 * Adds the description that editors and the reference show: purpose, unit, and the meaning of absence. Examples must be
 * values that the validator accepts.
 */
export const field = <const S extends v.GenericSchema>(
  schema: S,
  description: string,
  ...examples: readonly unknown[]
) => v.pipe(schema, v.metadata(examples.length === 0 ? { description } : { description, examples }));

/** A whole number within an inclusive range. */
export const wholeNumber = (min: number, max: number) =>
  v.pipe(v.number(), v.safeInteger(), v.minValue(min), v.maxValue(max));

/** A JSON Schema condition for `metadata`: a document that fits `condition` must fit `rule`. */
export const when = (condition: object, rule: object) => ({ if: { not: condition }, else: rule });
