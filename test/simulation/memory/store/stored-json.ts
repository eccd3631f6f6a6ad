import type { JsonObject } from '../../../../src/core/json/json-object.ts';
import { storableJson } from '../../../../src/core/json/storable-json.ts';

/** A copy of the value as jsonb returns it. */
export const stored = <Value>(value: Value): Value => JSON.parse(storableJson(value)) as Value;

/** As {@link stored}, of an object with any values. */
export const storedObject = (value: Readonly<Record<string, unknown>>): JsonObject => stored(value);
