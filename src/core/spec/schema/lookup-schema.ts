import * as v from 'valibot';
import { JsonObject } from '../../json/json-object.ts';
import { field, when, wholeNumber } from './field.ts';
import { Expression, RequestTemplate } from './http-schema.ts';
import { Selector, VariableName } from './names.ts';
import { Pagination } from './pagination-schema.ts';
import { strictObject } from './strict-object.ts';

const Seconds = wholeNumber(1, 2_592_000);
const DependsOn = field(
  v.pipe(v.optional(v.array(v.string()), []), v.metadata({ maxItems: 100 })),
  'Names of lookups that must be loaded before. What expressions use as `$lookups.<name>` counts without being listed.',
  [],
);
const successWhenText =
  'Over the body: false, and the response is an error although its status is 2xx. Absent: the status decides.';
const assignToText = 'The name of the result: `$lookups.<assignTo>`. No other lookup that the resource can see has it.';

export const Lookup = v.variant('kind', [
  strictObject({
    kind: field(v.literal('static'), 'The table is in the spec.'),
    assignTo: field(VariableName, assignToText, 'countries'),
    table: field(JsonObject, 'The values by key.', { Germany: 'DE', France: 'FR' }),
  }),
  strictObject({
    kind: field(v.literal('request'), 'The table is read from the API.'),
    assignTo: field(VariableName, assignToText, 'users'),
    request: field(RequestTemplate, 'The request that reads the items of the table.', { path: '/users' }),
    records: field(v.optional(Selector, '$'), 'Where a response has its items: `$` is the whole body.', 'data'),
    successWhen: field(v.exactOptional(Expression), successWhenText, '$exists(data)'),
    keyBy: field(Expression, 'Over the item: its key in the table. Of equal keys the last wins.', 'id'),
    value: field(
      v.optional(Expression, '$'),
      'Over the item: its value in the table. `$` is the whole item.',
      "{ 'email': email }",
    ),
    pagination: field(v.optional(Pagination, { kind: 'none' }), 'How the next page of items is requested.', {
      kind: 'next_url',
      next: 'body.next',
    }),
    dependsOn: DependsOn,
    maxEntries: field(
      v.optional(wholeNumber(1, 1_000_000), 100_000),
      'The greatest number of keys. A larger table fails the run.',
    ),
    cache: field(
      v.optional(
        strictObject({
          scope: field(
            v.optional(v.picklist(['run', 'connection']), 'run'),
            '`connection`: later runs of the connection use the table too, for `ttlSeconds`.',
          ),
          ttlSeconds: field(
            v.exactOptional(Seconds),
            'How many seconds a table of scope `connection` is used. Absent: an hour.',
            900,
          ),
        }),
        {},
      ),
      'How long a loaded table is used.',
      { scope: 'connection', ttlSeconds: 900 },
    ),
  }),
]);
export type Lookup = v.InferOutput<typeof Lookup>;

export const Enrichment = v.pipe(
  strictObject({
    assignTo: field(VariableName, assignToText, 'plan'),
    request: field(RequestTemplate, 'The request of one key, or of the keys of a batch.', { path: '/plans/{{ key }}' }),
    key: field(
      v.exactOptional(Expression),
      'Over `record`: what the request asks for, as `key`. Records of a page with the same key share one request. Required with `batch` and `cache`. Absent: a request for each record.',
      'record.plan_id',
    ),
    when: field(
      v.exactOptional(Expression),
      'False: no request is sent, the result is missing. Absent: every changed record.',
      '$exists(record.plan_id)',
    ),
    dependsOn: DependsOn,
    successWhen: field(v.exactOptional(Expression), successWhenText, '$not($exists(error))'),
    batch: field(
      v.exactOptional(
        strictObject({
          size: field(wholeNumber(1, 1000), 'Keys of one request, which has them as `batch.keys`.', 100),
          results: field(Expression, 'The list of results in a response.', 'results'),
          keyBy: field(Expression, 'The key of one result.', 'id'),
        }),
      ),
      'One request for up to `size` keys. Absent: one request per key.',
      { size: 100, results: 'results', keyBy: 'id' },
    ),
    select: field(
      v.exactOptional(Expression),
      'What of a response, or of a result of a batch, is kept. Absent: all of it.',
      'data',
    ),
    cache: field(
      v.optional(
        strictObject({
          scope: field(
            v.optional(v.picklist(['none', 'run', 'connection']), 'run'),
            'How long a result is used: for a page, for the run, or by later runs of the connection too.',
          ),
          ttlSeconds: field(
            v.exactOptional(Seconds),
            'How many seconds a result is used. Absent: an hour with scope `connection`, the whole run with `run`.',
            3600,
          ),
          negativeTtlSeconds: field(
            v.exactOptional(Seconds),
            'The same for a result that was missing. Absent: `ttlSeconds`, with scope `connection` at most 300.',
            300,
          ),
        }),
        {},
      ),
      'How long a result is used instead of a request.',
      { scope: 'connection', ttlSeconds: 3600 },
    ),
    onMissing: field(
      v.optional(v.picklist(['null', 'fail', 'quarantine']), 'null'),
      'At a 404, or a key without result in a batch: the result is null, the run fails, or the record is quarantined. If a batch has results for some keys only, the others are requested again.',
    ),
    onError: field(
      v.optional(v.picklist(['fail', 'null', 'quarantine']), 'fail'),
      'At any other failure, after retries: the same choice. A record whose result is null for a failure counts as `degraded` in the notes of the run, and is enriched again.',
    ),
  }),
  v.metadata(when({ required: ['batch'] }, { required: ['key'] })),
);
export type Enrichment = v.InferOutput<typeof Enrichment>;
