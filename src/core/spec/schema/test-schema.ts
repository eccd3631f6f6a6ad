import * as v from 'valibot';
import { JsonObject, JsonValue } from '../../json/json-value.ts';
import { mapOf, strictObject } from '../../strict-object.ts';

const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** A request by some of its parts; a part that is not given may have any value. */
export const RequestPattern = strictObject({
  method: v.exactOptional(v.picklist(['GET', 'POST'])),
  /** Below the path of `http.baseUrl`, or the whole path of the address. */
  path: v.exactOptional(
    v.pipe(v.string(), v.regex(/^\/[^?#]*$/, 'expected a path that begins with `/`; its query goes into `query`')),
  ),
  /** Values are compared as text. A list: the parameter once for each item. Null: it is absent. */
  query: v.exactOptional(JsonObject),
  headers: v.exactOptional(mapOf(v.string(), v.string())),
  /** An object: these fields of a JSON body or a form. A text: the whole body. */
  body: v.exactOptional(JsonValue),
});
export type RequestPattern = v.InferOutput<typeof RequestPattern>;

/** A response of the API in a test: to the first `times` requests of this form that no earlier mock matches. */
const Mock = strictObject({
  request: RequestPattern,
  respond: strictObject({
    status: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(200), v.maxValue(599)), 200),
    headers: v.optional(mapOf(v.string(), v.string()), {}),
    /** A text is sent as it is, everything else as JSON; absent: no body. */
    body: v.exactOptional(JsonValue),
  }),
  /** Absent: any number. */
  times: v.exactOptional(v.pipe(Count, v.minValue(1))),
});
export type Mock = v.InferOutput<typeof Mock>;

/** Every given part must hold. A run may only fail where `status` says so. */
const Expectation = strictObject({
  status: v.exactOptional(v.picklist(['succeeded', 'partial', 'failed'])),
  stats: v.exactOptional(
    strictObject({
      recordsIn: v.exactOptional(Count),
      recordsOut: v.exactOptional(Count),
      skipped: v.exactOptional(Count),
      deleted: v.exactOptional(Count),
      quarantined: v.exactOptional(Count),
    }),
  ),
  watermarkAfter: v.exactOptional(v.nullable(v.string())),
  /** Rows in the order of delivery; of each row the fields that are given. */
  delivered: v.exactOptional(v.array(JsonObject)),
  /** External ids, in any order. */
  deleted: v.exactOptional(v.array(v.string())),
  /** External ids, in any order. */
  quarantined: v.exactOptional(v.array(v.string())),
  /** How many, or each of them in order; a retry is a separate request. */
  requests: v.exactOptional(v.union([Count, v.array(RequestPattern)])),
});

/** A test inside the spec: a run of one resource against mocked HTTP. */
export const SpecTest = strictObject({
  name: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  resource: v.string(),
  params: v.optional(JsonObject, {}),
  secrets: v.optional(JsonObject, {}),
  /** Of every partition before the run. Null: the first run. */
  watermark: v.optional(v.nullable(v.string()), null),
  /** External ids of records that earlier runs delivered, in another version. */
  known: v.optional(v.array(v.string()), []),
  /** The clock of the test, an ISO instant. */
  now: v.optional(v.pipe(v.string(), v.isoTimestamp('expected an ISO instant')), '2026-01-01T00:00:00Z'),
  mocks: v.optional(v.array(Mock), []),
  expect: Expectation,
});
export type SpecTest = v.InferOutput<typeof SpecTest>;
