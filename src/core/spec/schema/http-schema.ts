import * as v from 'valibot';
import { JsonObject, JsonValue, mapOf } from '../../json/json-object.ts';
import { field, when, wholeNumber } from './field.ts';
import { RateLimit, RetrySettings, WaitFormat } from './rate-limit-schema.ts';
import { strictObject } from './strict-object.ts';

/** Text with `{{ JSONata }}` holes; see template.ts. */
export const Template = v.pipe(v.string(), v.metadata({ title: 'template' }));

export const Expression = v.pipe(v.string(), v.metadata({ title: 'expression' }));

export const HeaderTemplates = mapOf(
  v.pipe(v.string(), v.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/, 'expected a header name')),
  Template,
);

export type { RateLimit, WaitFormat } from './rate-limit-schema.ts';

const HttpStatus = wholeNumber(100, 599);

export const HttpStatuses = v.array(HttpStatus);

export const ResponseCondition = v.pipe(
  strictObject({
    status: field(
      v.exactOptional(
        v.pipe(
          v.array(v.union([HttpStatus, v.picklist(['4xx', '5xx', 'network', 'timeout'])])),
          v.minLength(1),
          v.maxLength(100),
        ),
      ),
      'One of these statuses. `network`: no response came; `timeout`: none in time. Absent: any.',
      [404, '5xx'],
    ),
    expr: field(
      v.exactOptional(Expression),
      'True for the response: sees `body`, `headers` (lower case), `status` and `params`. Absent: any response.',
      "body.error.code = 'RATE'",
    ),
  }),
  v.metadata({ anyOf: [{ required: ['status'] }, { required: ['expr'] }] }),
);
export type ResponseCondition = v.InferOutput<typeof ResponseCondition>;

export const ErrorRule = strictObject({
  when: field(
    ResponseCondition,
    'The responses that the rule is for; all conditions must hold, and there is at least one.',
    { status: [404] },
  ),
  action: field(
    v.picklist(['retry', 'rate_limited', 'refresh_auth', 'empty', 'skip_partition', 'fail']),
    'What happens. `retry`: repeated with a delay. `rate_limited`: repeated after the wait that the API names. `refresh_auth`: repeated once with a new token. `empty`: counts as a page without records, which no watermark passes; on a later page the read fails instead. `skip_partition`: the partition is not read and the run is `partial`. `fail`: the run fails.',
  ),
  waitFrom: field(
    v.exactOptional(
      strictObject({
        header: field(v.string(), 'The header with the time.', 'x-ratelimit-reset'),
        format: field(WaitFormat, 'The form of its value.'),
      }),
    ),
    'Where a response says how long to wait, for `rate_limited`. Absent: `Retry-After`.',
    { header: 'x-ratelimit-reset', format: 'epoch_s' },
  ),
  message: field(
    v.exactOptional(v.pipe(v.string(), v.maxLength(500))),
    'The text of the error for people. Absent: what the service can say about the response.',
    'The API has refused the key',
  ),
  connection: field(
    v.exactOptional(v.literal('error')),
    '`error`: the connection goes to `error` when the rule fails the run, and its schedules stop. Absent: it stays as it is.',
  ),
});
export type ErrorRule = v.InferOutput<typeof ErrorRule>;

const TimeoutMs = wholeNumber(1000, 120_000);

export const HttpSettings = strictObject({
  baseUrl: field(
    v.exactOptional(Template),
    'The address that `path` of each request is appended to; http or https, without user name. Absent only when every request has its own `url`.',
    'https://{{ params.subdomain }}.acme.example/api/v2',
  ),
  headers: field(v.optional(HeaderTemplates, {}), 'Headers of every request; a request can replace them.', {
    Accept: 'application/json',
  }),
  query: field(
    v.optional(JsonObject, {}),
    'Query parameters of every request; a request can replace them. Strings are templates; a parameter whose value is null or missing is left out.',
    { version: '2' },
  ),
  allowedHosts: field(
    v.optional(
      v.pipe(
        v.array(
          v.pipe(v.string(), v.regex(/^(\*\.)?([A-Za-z0-9-]{1,63}\.)*[A-Za-z0-9-]{1,63}$/, 'expected host or *.host')),
        ),
        v.maxLength(100),
      ),
      [],
    ),
    "Hosts besides baseUrl's that next links may lead to: exact or `*.host`. A link to another host fails the run with `egress_blocked`.",
    ['files.acme.example', '*.acme-cdn.example'],
  ),
  timeoutMs: field(v.optional(TimeoutMs, 30_000), 'Milliseconds for one attempt, body included. Then it is retried.'),
  maxResponseBytes: field(
    v.optional(wholeNumber(1, 104_857_600), 52_428_800),
    'Decoded bytes of one response. A longer one fails the run.',
  ),
  redirects: field(
    v.optional(v.picklist(['same_origin', 'none']), 'same_origin'),
    'Which redirects are followed: at most 3, to the same scheme, host and port; or none.',
  ),
  retry: field(v.optional(RetrySettings, {}), 'How often and how long a request is retried.', { maxAttempts: 8 }),
  rateLimit: field(
    v.optional(RateLimit, {}),
    'How fast requests may be sent. A run that has to wait longer than seconds waits durably and costs nothing meanwhile.',
    { requests: 100, perSeconds: 60 },
  ),
  errors: field(
    v.pipe(v.optional(v.array(ErrorRule), []), v.metadata({ maxItems: 100 })),
    "What a response means, evaluated after the resource's own rules; the first rule that matches wins. Without one: 2xx is a page, 429 waits, 401 refreshes a token, 408, 425, 5xx and network errors are retried, anything else fails the run.",
    [{ when: { status: [404] }, action: 'empty' }],
  ),
});
export type HttpSettings = v.InferOutput<typeof HttpSettings>;

const RequestBody = v.pipe(
  strictObject({
    json: field(v.exactOptional(JsonValue), 'A JSON body; strings in it are templates.', { limit: '{{ page.size }}' }),
    form: field(v.exactOptional(JsonObject), 'Fields of a form, URL-encoded; values are templates.', {
      limit: '{{ page.size }}',
    }),
    text: field(v.exactOptional(Template), 'The body as text.', 'from {{ window.from }}'),
    graphql: field(
      v.exactOptional(
        strictObject({
          query: field(
            Template,
            'The query. Values belong in `variables`.',
            'query ($n: Int) { items(first: $n) { id } }',
          ),
          variables: field(v.optional(JsonObject, {}), 'Its variables; strings in it are templates.', {
            n: '{{ page.size }}',
          }),
        }),
      ),
      'A GraphQL request, sent as JSON.',
      { query: 'query ($n: Int) { items(first: $n) { id } }', variables: { n: '{{ page.size }}' } },
    ),
  }),
  v.metadata({ minProperties: 1, maxProperties: 1 }),
);

export const RequestTemplate = v.pipe(
  strictObject({
    method: field(v.optional(v.picklist(['GET', 'POST']), 'GET'), 'The method. POST only for APIs that read by it.'),
    path: field(
      v.exactOptional(Template),
      'The path below `http.baseUrl`, without query. Values in `{{ }}` are percent-encoded, in `{{{ }}}` they keep their slashes; a missing one fails the run. Either `path` or `url`.',
      '/projects/{{ params.project }}/issues',
    ),
    url: field(
      v.exactOptional(Template),
      'A whole address, used instead of `http.baseUrl` and `path`.',
      'https://files.acme.example/export',
    ),
    query: field(
      v.optional(JsonObject, {}),
      'Query parameters. Strings are templates; a parameter whose value is null or missing is left out. Objects become `name[key]`, lists as `arrayFormat` says.',
      { per_page: '{{ page.size }}', since: '{{ window.from }}' },
    ),
    headers: field(
      v.optional(HeaderTemplates, {}),
      'Headers besides those of `http`. One whose value is null or missing is left out.',
      { 'X-Api-Version': '2' },
    ),
    body: field(v.exactOptional(RequestBody), 'The body, in exactly one form; only with POST.', {
      json: { limit: '{{ page.size }}' },
    }),
    arrayFormat: field(
      v.optional(v.picklist(['repeat', 'comma', 'brackets', 'indices']), 'repeat'),
      'How lists in `query` are written: `a=1&a=2`, `a=1,2`, `a[]=1&a[]=2` or `a[0]=1&a[1]=2`.',
    ),
    timeoutMs: field(
      v.exactOptional(TimeoutMs),
      'Milliseconds for one attempt of this request. Absent: `http.timeoutMs`.',
      60_000,
    ),
    rateLimit: field(
      v.exactOptional(RateLimit),
      'A second, narrower limit besides that of `http`; requests with the same method and path template share it.',
      { requests: 4, perSeconds: 1 },
    ),
    cache: field(
      v.optional(
        strictObject({
          mode: field(
            v.optional(v.picklist(['none', 'conditional', 'ttl']), 'none'),
            '`conditional`: requested with the validators of the last response (`ETag`, or a `Last-Modified` that is a minute older than `Date`), which is valid again at a 304; the read of a resource only while its list is one page. `ttl`: not requested for `ttlSeconds` after it; for a login, whose response is stored as its token, its longest lifetime.',
          ),
          ttlSeconds: field(
            v.exactOptional(wholeNumber(1, 2_592_000)),
            'Seconds for which mode `ttl` uses a response. Absent: 0.',
            900,
          ),
        }),
        {},
      ),
      'Whether a stored response may be used. Per connection; never shared between connections.',
      { mode: 'conditional' },
    ),
  }),
  v.metadata({
    description: 'One request: exactly one of `path` and `url`; a body only with POST.',
    allOf: [
      when({ required: ['path'] }, { properties: { url: false } }),
      when({ not: { required: ['url'] } }, { required: ['path'] }),
      when(
        { not: { properties: { method: { const: 'POST' } }, required: ['method'] } },
        { properties: { body: false } },
      ),
    ],
  }),
);
export type RequestTemplate = v.InferOutput<typeof RequestTemplate>;
