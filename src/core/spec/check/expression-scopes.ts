/** The names that an expression can see at one place of a spec. */
export interface EvaluationScope {
  /** Plain names; each one either free in its members or limited to those listed. */
  readonly roots: ReadonlyMap<string, readonly string[] | null>;
  /** Whether other plain names are fields of the input: a record, an item, a response body. */
  readonly open: boolean;
  /** Names written with `$`, besides JSONata's own functions. */
  readonly variables: ReadonlySet<string>;
  /** `enriched`: `$lookups` holds the resource's enrichments too, not only the tables. */
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

/** The visible names, by kind of place (connector-spec 2.1). */
export const scopes = {
  /** `auth` and `destination`: the only places where `secrets` is seen. */
  secret: scope(secret),
  /** An hmac auth block: the parts of the request to sign as well. */
  signature: scope({ ...secret, ...Object.fromEntries(signature.map((name) => [name, null])) }),
  /** The response of a login request. */
  loginResponse: scope({ body: null, headers: null, status: null }),
  /** Requests, and what they share. */
  request: scope(request, { variables: ['lookups'] }),
  /** The request of a resource, which may ask for chunks of the fields. */
  read: scope({ ...request, chunk: ['fields'], job: null }, { variables: ['lookups'] }),
  /** Values fixed before the first request of a partition. */
  partition: scope({ params: null, auth: null, ...run, lookups: null }, { variables: ['lookups'] }),
  /** Expressions that classify a response. */
  response: scope(response),
  /** The same, but the fields of the decoded body are seen by their own names too. */
  body: scope(response, { open: true }),
  /** Constants added to each item. */
  fields: scope({ params: null, each: null, window: ['from', 'to'], watermark: null, ...run }),
  /** A record, an item of a list, a body: plain names are its fields. */
  item: scope({}, { open: true, variables: ['lookups', 'params', 'each', 'run'] }),
  /** A record after its enrichments. */
  enriched: scope({}, { open: true, variables: ['lookups', 'params', 'each', 'run'], lookups: 'enriched' }),
  /** An enrichment step. */
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
