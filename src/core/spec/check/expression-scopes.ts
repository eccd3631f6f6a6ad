export interface EvaluationScope {
  /** Plain names, with the members allowed; `null` if all are. */
  readonly roots: ReadonlyMap<string, readonly string[] | null>;
  /** Whether other plain names are fields of the input, such as a record or a response body. */
  readonly open: boolean;
  /** Names written with `$`, besides JSONata's own functions. */
  readonly variables: ReadonlySet<string>;
  /** `enriched`: `$lookups` has the resource's enrichments as well as the tables. */
  readonly lookups: 'tables' | 'enriched';
}

const run = { run: ['id', 'startedAt', 'mode'] };
const page = { page: ['size', 'number', 'offset', 'cursor'] };
const request = {
  params: null,
  auth: null,
  each: null,
  window: ['from', 'to'],
  watermark: null,
  ...page,
  ...run,
  lookups: null,
};
const response = { body: null, headers: null, status: null, ...page, last: null, params: null, watermark: null };
const secret = { params: null, secrets: null, auth: null, ...run };
const signature = ['method', 'path', 'query', 'body', 'timestamp', 'nonce', 'signature'];

/** Visible names by kind of place (connector-spec 2.1). */
export const scopes = {
  /** `auth` and `destination`, the only places that see `secrets`. */
  secret: scope(secret),
  /** An hmac auth block, which also sees the parts of the request to sign. */
  signature: scope({ ...secret, ...Object.fromEntries(signature.map((name) => [name, null])) }),
  loginResponse: scope({ body: null, headers: null, status: null }),
  request: scope(request, { variables: ['lookups'] }),
  read: scope({ ...request, chunk: ['fields'], job: null }, { variables: ['lookups'] }),
  /** Values fixed before the first request of a partition. */
  partition: scope({ params: null, auth: null, ...run, lookups: null }, { variables: ['lookups'] }),
  response: scope(response),
  /** As `response`; fields of the decoded body are also seen by their own names. */
  body: scope(response, { open: true }),
  /** Constants added to each item. */
  fields: scope({ params: null, each: null, window: ['from', 'to'], watermark: null, ...run }),
  item: scope({}, { open: true, variables: ['lookups', 'params', 'each', 'run'] }),
  enriched: scope({}, { open: true, variables: ['lookups', 'params', 'each', 'run'], lookups: 'enriched' }),
  enrich: scope(
    { record: null, key: null, batch: ['keys'], params: null, each: null, lookups: null },
    { variables: ['lookups'], lookups: 'enriched' },
  ),
} as const;

interface EvaluationScopeOptions {
  readonly open?: boolean;
  readonly variables?: readonly string[];
  readonly lookups?: EvaluationScope['lookups'];
}

function scope(
  roots: Readonly<Record<string, readonly string[] | null>>,
  options: EvaluationScopeOptions = {},
): EvaluationScope {
  return {
    roots: new Map(Object.entries(roots)),
    open: options.open ?? false,
    variables: new Set(options.variables),
    lookups: options.lookups ?? 'tables',
  };
}
