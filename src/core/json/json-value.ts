import * as v from 'valibot';
import { mapOf } from '../strict-object.ts';

/** Any JSON value as a schema; it has already passed the document gate, so it is not walked again. */
export const JsonValue = v.unknown();

/** A JSON object with any keys. */
export const JsonObject = mapOf(v.string(), JsonValue);

/** Whether `value` is a plain JSON object: not null, not a list. */
export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
