/** A JSON object. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** Whether a value is an object and no list. */
export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The object in a field; empty where there is none. */
export const fields = (record: JsonRecord, key: string): JsonRecord => {
  const value = record[key];
  return isRecord(value) ? value : {};
};

/** The texts among values. */
export const texts = (values: readonly unknown[]): readonly string[] =>
  values.filter((value): value is string => typeof value === 'string');

/** A text, or a number as one; empty for anything else. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
