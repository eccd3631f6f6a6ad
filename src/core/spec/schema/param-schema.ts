import * as v from 'valibot';
import { JsonValue } from '../../json/json-value.ts';
import { Identifier } from '../../json/property-names.ts';
import { strictObject } from '../../strict-object.ts';

/** One value that a connection must supply: in `params`, or in `secrets` when it is secret. */
export const ConnectionParam = strictObject({
  key: Identifier,
  type: v.picklist(['string', 'integer', 'number', 'boolean', 'url', 'string_list', 'json']),
  /** The name shown to people. */
  label: v.exactOptional(v.string()),
  description: v.exactOptional(v.string()),
  required: v.optional(v.boolean(), true),
  /** True: sent in `secrets`, stored encrypted, never returned; has no default. */
  secret: v.optional(v.boolean(), false),
  default: v.exactOptional(JsonValue),
  enum: v.exactOptional(v.pipe(v.array(JsonValue), v.minLength(1), v.maxLength(1000))),
  /** A regular expression over the text (over each item of a list); not anchored, without lookaround and backreferences. */
  pattern: v.exactOptional(v.pipe(v.string(), v.maxLength(1000))),
  format: v.exactOptional(v.picklist(['date', 'date-time', 'email', 'uuid', 'hostname', 'subdomain'])),
  /** Characters. */
  minLength: v.exactOptional(v.pipe(v.number(), v.safeInteger(), v.minValue(0))),
  /** Characters. */
  maxLength: v.exactOptional(v.pipe(v.number(), v.safeInteger(), v.minValue(0))),
  min: v.exactOptional(v.number()),
  max: v.exactOptional(v.number()),
});
export type ConnectionParam = v.InferOutput<typeof ConnectionParam>;
