import type { JsonObject } from './json-object.ts';

/** Whether the value is a JSON object: not null, not an array. The evaluator process may read this file, and no package. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
