import type * as v from 'valibot';
import type { Listing } from '../../db/listing.ts';
import type { OrgScope } from '../../db/scope.ts';
import type { WriteDeps } from '../control/orgs/write.ts';
import type { EmbedScope } from '../core/crypto/embed-token.ts';
import type { Issue, RequestErrorCode } from '../core/errors.ts';
import type { Deps } from '../deps.ts';
import type { Caller } from './auth.ts';
import type { ConnectCaller } from './connect-auth.ts';
import type { EmbedCaller } from './embed-auth.ts';
import type { CostlyOrder, CostlyRequests } from './gates/costly-requests.ts';
import type { InProgress } from './gates/in-progress.ts';
import type { OrgRequests } from './gates/org-requests.ts';
import { checkBody, checkParams, checkQuery, type Query } from './inputs.ts';
import type { Reads } from './reads.ts';
import type { ResponseWithHeaders } from './response-headers.ts';
import type { SeeOther } from './see-other.ts';

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
  /** True after the stop signal: the process is then not ready. */
  readonly isStopping?: () => boolean;
}

export interface ApiDeps extends AppDeps, WriteDeps {
  readonly reads: Reads;
  readonly requests: OrgRequests;
  readonly costly: CostlyRequests;
  readonly lists: InProgress;
  /** Throws rate_limited. */
  readonly countOfSession: (sessionId: string) => Promise<void>;
}

type Schema = v.GenericSchema;
/** `oauth_state`: the query parameter `state`, which is checked first unless a parameter is missing. */
type Auth = 'api_key' | 'embed_token' | 'connect_token' | 'oauth_state' | 'none';

export interface Route {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** Path below `/api/v1`; parameters as `:name`. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: string;
  readonly auth: Auth;
  /** What an embed token needs; `read` by default. */
  readonly embedScope?: EmbedScope;
  /** An invalid parameter is a 404: its schema's message is the noun of the missing thing. */
  readonly params?: Schema | undefined;
  readonly query?: Schema | undefined;
  readonly body?: Schema | undefined;
  readonly yaml?: true;
  /** Texts in the body may be as long as the body. */
  readonly longTexts?: true;
  /** An empty body counts as an empty object. */
  readonly bodyOptional?: true;
  /** Response to a body that exceeds the general limits, instead of a validation error. */
  readonly whenInvalid?: (this: void, issues: readonly Issue[]) => unknown;
  /** The body's schema in the document, if `body` leaves the validation to the handler. */
  readonly bodyName?: 'ConnectorSpec';
  readonly bodyExample?: unknown;
  readonly status: 200 | 201 | 202;
  /** An array schema makes it a list: streamed, with `X-Total-Count`. */
  readonly response: Schema;
  /** Says when it redirects with 303. */
  readonly redirects?: string;
  readonly headers?: Readonly<Record<string, HeaderFacts>>;
  /** Without those of its input and those common to all endpoints. */
  readonly errors: readonly RequestErrorCode[];
  /** The response to a repeated `Idempotency-Key`: the first one again, or 409. Without it the header is ignored. */
  readonly repeated?: 'same_response' | 'conflict';
  /**
   * For endpoints that check a spec, evaluate expressions or wait for a customer's servers: limited per org.
   * `one_by_one`: it checks specs in a transaction, so only one at a time holds a connection.
   */
  readonly costly?: CostlyOrder;
  /** Throws `AppError` or `HttpRejection`. */
  prepare(this: void, request: RawRequest): (deps: ApiDeps) => Promise<unknown>;
}

interface HeaderFacts {
  readonly description: string;
  /** Absent: any. */
  readonly values?: readonly string[];
}

export type AnyCaller = Caller | EmbedCaller | ConnectCaller;

export interface RawRequest {
  /** `null` without a credential; otherwise of the kind that `auth` names. */
  readonly caller: AnyCaller | null;
  /** The secret of the browser in its cookie; `null`: it has none. */
  readonly browser: string | null;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly document: unknown;
}

type Output<S extends Schema | undefined> = S extends Schema ? v.InferOutput<S> : undefined;

/** `scope` and `caller` exist only behind a credential. */
type Input<A extends Auth, P extends Schema | undefined, Q extends Schema | undefined, B extends Schema | undefined> = {
  readonly params: Output<P>;
  readonly query: Output<Q>;
  readonly body: Output<B>;
  readonly browser: string | null;
} & CredentialOf[A];

interface CredentialOf {
  readonly api_key: { readonly scope: OrgScope; readonly caller: Caller };
  readonly embed_token: { readonly scope: OrgScope; readonly caller: EmbedCaller };
  readonly connect_token: { readonly scope: OrgScope; readonly caller: ConnectCaller };
  readonly oauth_state: unknown;
  readonly none: unknown;
}

/** A list is a {@link Listing}, so that it is never in memory as a whole. */
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
    prepare({ caller, browser, params, query, document }) {
      // The order decides which error is reported: body, query, then not found.
      const checked = {
        body: facts.body && checkBody(facts.body, document),
        query: facts.query && checkQuery(facts.query, query),
        params: facts.params && checkParams(facts.params, params),
      };
      // The compiler cannot resolve the conditional types above; the preceding lines make them true.
      const input = { ...checked, scope: caller?.scope, caller, browser } as Input<A, P, Q, B>;
      return (deps) => handle(input, deps);
    },
  };
}
