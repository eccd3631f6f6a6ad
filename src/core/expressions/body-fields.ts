import { isJsonObject } from '../json/is-json-object.ts';

/** An input with the fields of its `body` besides it: specs write `$exists(data)` as well as `$exists(body.data)`. */
export const withBodyFields = (input: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  isJsonObject(input['body']) ? { ...input['body'], ...input } : input;
