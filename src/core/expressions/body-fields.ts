import { isJsonObject } from '../json/is-json-object.ts';

/** Adds the fields of `body` to the input: specs write `$exists(data)` as well as `$exists(body.data)`. */
export const withBodyFields = (input: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  isJsonObject(input['body']) ? { ...input['body'], ...input } : input;
