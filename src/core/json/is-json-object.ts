import type { JsonObject } from './json-object.ts';

/** The evaluator process may read this file but no package. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
