import * as v from 'valibot';
import { JsonObject, JsonValue } from './json.ts';
import { mapOf, strictObject } from './strict-object.ts';

const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** A test inside the spec: a run of one resource against mocked HTTP. */
export const SpecTest = strictObject({
  name: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  resource: v.string(),
  params: v.optional(JsonObject, {}),
  secrets: v.optional(JsonObject, {}),
  /** Null: the first run. */
  watermark: v.optional(v.nullable(v.string()), null),
  /** The clock of the test, an ISO instant. */
  now: v.exactOptional(v.pipe(v.string(), v.isoTimestamp('expected an ISO instant'))),
  mocks: v.optional(
    v.array(
      strictObject({
        request: JsonObject,
        respond: strictObject({
          status: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(100), v.maxValue(599)), 200),
          headers: v.optional(mapOf(v.string(), v.string()), {}),
          body: v.exactOptional(JsonValue),
        }),
        times: v.exactOptional(Count),
      }),
    ),
    [],
  ),
  expect: strictObject({
    status: v.exactOptional(v.picklist(['succeeded', 'partial', 'failed'])),
    stats: v.exactOptional(mapOf(v.string(), Count)),
    watermarkAfter: v.exactOptional(v.nullable(v.string())),
    delivered: v.exactOptional(JsonValue),
    deleted: v.exactOptional(JsonValue),
    quarantined: v.exactOptional(JsonValue),
    requests: v.exactOptional(JsonValue),
  }),
});
export type SpecTest = v.InferOutput<typeof SpecTest>;
