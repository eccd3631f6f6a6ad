import type * as v from 'valibot';
import type { Listing } from '../../db/listing.ts';
import type { OrgScope } from '../../db/scope.ts';
import type { WriteDeps } from '../control/orgs/write.ts';
import type { Issue, RequestErrorCode } from '../core/errors.ts';
import type { Deps } from '../deps.ts';
import type { Caller } from './auth.ts';
import type { EmbedCaller } from './embed-auth.ts';
import type { CostlyOrder, CostlyRequests } from './gates/costly-requests.ts';
import type { InProgress } from './gates/in-progress.ts';
import type { OrgRequests } from './gates/org-requests.ts';
import { checkBody, checkParams, checkQuery, type Query } from './inputs.ts';
import type { Reads } from './reads.ts';
import type { ResponseWithHeaders } from './response-headers.ts';
import type { SeeOther } from './see-other.ts';

/** The dependencies of an API. */
export interface AppDeps
  extends Pick<
    Deps,
    | 'db'
    | 'log'
    | 'secretBox'
    | 'egress'
    | 'evaluators'
    | 'decodeQueue'
    | 'orchestrator'
    | 'oauth'
    | 'embed'
    | 'codec'
    | 'console'
    | 'publicUrl'
    | 'defaultDestination'
    | 'scheduleMinIntervalSeconds'
    | 'requestsPerSecond'
  > {
  /** True from the signal to stop on: the process is then not ready. Absent: never. */
  readonly isStopping?: () => boolean;
}

/** What the handlers need. */
export interface ApiDeps extends AppDeps, WriteDeps {
  readonly reads: Reads;
  readonly requests: OrgRequests;
  readonly costly: CostlyRequests;
  readonly lists: InProgress;
}

type Schema = v.GenericSchema;
/** `oauth_state`: the query parameter `state`, which is checked first, except for a missing parameter. */
type Auth = 'api_key' | 'embed_token' | 'oauth_state' | 'none';

/** One endpoint as the router, the OpenAPI document and the tests see it. */
export interface Route {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** The path below `/api/v1`; parameters as `:name`. */
  readonly path: string;
  /** What the endpoint does: one line, in the imperative. */
  readonly summary: string;
  readonly description?: string;
  /** The group in the document. */
  readonly tag: string;
  readonly auth: Auth;
  /** A parameter that fails is a 404: its schema's message is the noun of what is not found. */
  readonly params?: Schema | undefined;
  readonly query?: Schema | undefined;
  /** The shape of the body; absent: a body is ignored. */
  readonly body?: Schema | undefined;
  /** The body may be YAML, if the content type says so. */
  readonly yaml?: true;
  /** Texts in the body may be as long as the body. */
  readonly longTexts?: true;
  /** No body at all counts as an object without properties. */
  readonly bodyOptional?: true;
  /** What a body beyond the limits of every body gets, with its issues; absent: a validation error. */
  readonly whenInvalid?: (this: void, issues: readonly Issue[]) => unknown;
  /** The body's schema in the document, where `body` leaves the validation to the handler. */
  readonly bodyName?: 'ConnectorSpec';
  /** A body that works, for the document. */
  readonly bodyExample?: unknown;
  readonly status: 200 | 201 | 202;
  /** An array schema makes it a list: streamed, with `X-Total-Count`. */
  readonly response: Schema;
  /** When it sends the browser on instead, with 303. Absent: it never does. */
  readonly redirects?: string;
  /** Headers of a success besides those of every response, with the values they may have. */
  readonly headers?: Readonly<Record<string, HeaderFacts>>;
  /** The errors of the endpoint itself; `validation` of its input and those every endpoint has are added. */
  readonly errors: readonly RequestErrorCode[];
  /** What a repeated `Idempotency-Key` gets: the first response again, or 409. Absent: the header is ignored. */
  readonly repeated?: 'same_response' | 'conflict';
  /**
   * Whether it is costly, because it checks a spec, evaluates expressions or waits for servers that a customer names.
   * An org may have only some of them in progress at once. `one_by_one`: it checks specs in a transaction, so only one
   * of them has a connection of the database.
   */
  readonly costly?: CostlyOrder;
  /** Checks the request; returns the function that does the work. Throws `AppError` or `HttpRejection`. */
  prepare(this: void, request: RawRequest): (deps: ApiDeps) => Promise<unknown>;
}

/** A header of a response. */
interface HeaderFacts {
  readonly description: string;
  readonly values: readonly string[];
}

/** A request before its checks. */
export interface RawRequest {
  /** Null for endpoints without a credential; otherwise of the kind that `auth` says. */
  readonly caller: Caller | EmbedCaller | null;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** The parsed body; undefined when the endpoint reads none. */
  readonly document: unknown;
}

type Output<S extends Schema | undefined> = S extends Schema ? v.InferOutput<S> : undefined;

/** The checked input of a handler. `scope` and `caller` exist only behind a credential. */
type Input<A extends Auth, P extends Schema | undefined, Q extends Schema | undefined, B extends Schema | undefined> = {
  readonly params: Output<P>;
  readonly query: Output<Q>;
  readonly body: Output<B>;
} & CredentialOf[A];

interface CredentialOf {
  readonly api_key: { readonly scope: OrgScope; readonly caller: Caller };
  readonly embed_token: { readonly scope: OrgScope; readonly caller: EmbedCaller };
  readonly oauth_state: unknown;
  readonly none: unknown;
}

/** A list is given as a {@link Listing}, so that none is in memory as a whole. */
type Result<R extends Schema> = v.InferOutput<R> extends readonly (infer Row)[] ? Listing<Row> : v.InferOutput<R>;

interface Declaration<
  A extends Auth,
  P extends Schema | undefined,
  Q extends Schema | undefined,
  B extends Schema | undefined,
  R extends Schema,
> extends Omit<Route, 'prepare'> {
  readonly auth: A;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly response: R;
  readonly handle: (
    input: Input<A, P, Q, B>,
    deps: ApiDeps,
  ) => Promise<Result<R> | ResponseWithHeaders<Result<R>> | SeeOther>;
}

/** Declares an endpoint: reading an unknown parameter or returning another shape than `response` does not compile. */
export function route<
  A extends Auth,
  R extends Schema,
  P extends Schema | undefined = undefined,
  Q extends Schema | undefined = undefined,
  B extends Schema | undefined = undefined,
>({ handle, ...facts }: Declaration<A, P, Q, B, R>): Route {
  return {
    ...facts,
    prepare({ caller, params, query, document }) {
      // The order decides which error is reported: body, query, then what is not found.
      const checked = {
        body: facts.body && checkBody(facts.body, document),
        query: facts.query && checkQuery(facts.query, query),
        params: facts.params && checkParams(facts.params, params),
      };
      // The compiler cannot resolve the conditional types above; the preceding lines make them true.
      const input = { ...checked, scope: caller?.scope, caller } as Input<A, P, Q, B>;
      return (deps) => handle(input, deps);
    },
  };
}
