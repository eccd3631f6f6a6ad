import * as v from 'valibot';
import { JsonObject, JsonValue, mapOf } from '../../json/json-object.ts';
import { field, wholeNumber } from './field.ts';
import { strictObject } from './strict-object.ts';

export const testMsMax = 5_000;
/** All tests of a spec together. */
export const testsMsMax = 30_000;

const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

export const RequestPattern = strictObject({
  method: field(v.exactOptional(v.picklist(['GET', 'POST'])), 'The method. Absent: any.'),
  path: field(
    v.exactOptional(
      v.pipe(v.string(), v.regex(/^\/[^?#]*$/, 'expected a path that begins with `/`; its query goes into `query`')),
    ),
    'The path below that of `http.baseUrl`, or the whole path of the address. Absent: any.',
    '/accounts',
  ),
  query: field(
    v.exactOptional(JsonObject),
    'Query parameters, compared as text; others may be there. A list: the parameter once for each item. Null: it is absent.',
    { page: 2, cursor: null },
  ),
  headers: field(
    v.exactOptional(mapOf(v.string(), v.string())),
    'Headers; others may be there. Those of `auth` never are.',
    {
      'x-version': '2',
    },
  ),
  body: field(
    v.exactOptional(JsonValue),
    'An object: these fields of a JSON body or a form. A text: the whole body. Absent: any.',
    { limit: 100 },
  ),
});
export type RequestPattern = v.InferOutput<typeof RequestPattern>;

const Mock = strictObject({
  request: field(RequestPattern, 'The requests that get this response.', { path: '/accounts' }),
  respond: field(
    strictObject({
      status: field(v.optional(wholeNumber(200, 599), 200), 'The status.'),
      headers: field(v.optional(mapOf(v.string(), v.string()), {}), 'The headers.', { 'x-total': '2' }),
      body: field(v.exactOptional(JsonValue), 'A text is sent as it is, everything else as JSON. Absent: no body.', {
        data: [{ id: 'a1' }],
      }),
    }),
    'The response.',
    { body: { data: [{ id: 'a1' }] } },
  ),
  times: field(
    v.exactOptional(v.pipe(Count, v.minValue(1))),
    'How many requests get it; further ones get that of the next mock. Absent: any number.',
    1,
  ),
});
export type Mock = v.InferOutput<typeof Mock>;

const count = (what: string) => field(v.exactOptional(Count), `${what} Absent: any number.`, 1);

const Expectation = strictObject({
  status: field(
    v.exactOptional(v.picklist(['succeeded', 'partial', 'failed'])),
    'The status of the run. Absent: `succeeded` or `partial`.',
  ),
  stats: field(
    v.exactOptional(
      strictObject({
        recordsIn: count('Records read.'),
        recordsOut: count('Records delivered.'),
        skipped: count('Records skipped: unchanged, filtered, stale.'),
        deleted: count('Records deleted.'),
        quarantined: count('Records quarantined.'),
      }),
    ),
    'The figures of the run. Absent: any.',
    { recordsIn: 2, recordsOut: 1 },
  ),
  watermarkAfter: field(
    v.exactOptional(v.nullable(v.string())),
    'The watermark after the run; null: none. Absent: any.',
    '2026-01-01T00:00:00.000Z',
  ),
  delivered: field(
    v.exactOptional(v.array(JsonObject)),
    'Rows in the order of delivery; of each row the fields that are given. Absent: any.',
    [{ id: 'a1' }],
  ),
  deleted: field(v.exactOptional(v.array(v.string())), 'External ids, in any order. Absent: any.', ['a3']),
  quarantined: field(v.exactOptional(v.array(v.string())), 'External ids, in any order. Absent: any.', ['a2']),
  requests: field(
    v.exactOptional(v.union([Count, v.array(RequestPattern)])),
    'How many, or each of them in order; a retry is a separate request, and logins are not among them. Absent: any.',
    [{ path: '/accounts' }],
  ),
});

export const SpecTest = strictObject({
  name: field(v.pipe(v.string(), v.minLength(1), v.maxLength(200)), 'What the test shows.', 'reads two pages'),
  resource: field(v.string(), 'The key of the resource that is run.', 'accounts'),
  params: field(v.optional(JsonObject, {}), 'The params of the connection.', { subdomain: 't' }),
  secrets: field(v.optional(JsonObject, {}), 'The secrets of the connection; made up.', { token: 't' }),
  watermark: field(
    v.optional(v.nullable(v.string()), null),
    'The watermark of every partition before the run. Null: the first run.',
    '2025-12-01T00:00:00.000Z',
  ),
  known: field(
    v.optional(v.array(v.string()), []),
    'External ids of records that earlier runs delivered, in another version.',
    ['a1'],
  ),
  maxRecords: field(
    v.exactOptional(v.pipe(Count, v.minValue(1))),
    'Records after which the run ends, also in the middle of a page; of a stored parent the same, and of a parent that is read live one page. Absent: as the resource says.',
    20,
  ),
  now: field(
    v.optional(v.pipe(v.string(), v.isoTimestamp('expected an ISO instant')), '2026-01-01T00:00:00Z'),
    'The clock of the test, an ISO instant.',
  ),
  mocks: field(
    v.pipe(v.optional(v.array(Mock), []), v.metadata({ maxItems: 200 })),
    'The responses of the API. A request that no mock matches fails the test. A test neither logs in nor sends credentials: a mock of a login gets no request.',
    [{ request: { path: '/accounts' }, respond: { body: [] } }],
  ),
  expect: field(Expectation, 'What must hold after the run. A run may only fail where `status` says so.', {
    status: 'succeeded',
    stats: { recordsIn: 2 },
  }),
});
export type SpecTest = v.InferOutput<typeof SpecTest>;
