import type { Evaluator } from '../core/expressions/evaluation.ts';
import { createHttpClient } from '../core/http/client.ts';
import { withConcurrencyMax } from '../core/http/concurrency.ts';
import type { EgressGuard } from '../core/http/egress.ts';
import type { LoggedCall } from '../core/http/logged-call.ts';
import type { Redactor } from '../core/http/redact.ts';
import type { SocketCache } from '../core/http/sockets.ts';
import type { ThrottleReason } from '../core/model/throttled.ts';
import { credentialValues } from '../core/source/auth/credentials.ts';
import { openTokens } from '../core/source/auth/open-tokens.ts';
import { createTokenClient } from '../core/source/auth/token-client.ts';
import type { TokenStore } from '../core/source/auth/token-store.ts';
import type { DecodeTurns } from '../core/source/decode/decode-turns.ts';
import type { Source } from '../core/source/source.ts';
import type { Resource } from '../core/spec/schema/spec-schema.ts';
import { type Buckets, limitsOverBuckets, loginLimitsOverBuckets } from './limits-over-buckets.ts';
import type { ConnectionSetup } from './setup.ts';

/** A resource of a run's connection; the reader chooses its watermark. */
export type OpenedSource = Omit<Source, 'watermark'>;

/** Where the parts of a source come from that are shared with other runs. */
export interface SourcePorts {
  readonly egress: EgressGuard;
  /** Sockets that outlive the run; null: it has its own. */
  readonly socketCache: SocketCache | null;
  readonly evaluator: Evaluator;
  /** When the bodies of its responses are decoded. */
  readonly decodeTurns: DecodeTurns;
  /** Buckets for one client. */
  readonly openBuckets: () => Buckets;
  /** The store for the tokens of a resource with an auth of its own; null: of the spec's auth. */
  readonly openTokenStore: (resourceKey: string | null) => TokenStore;
}

/** The connection and the resource to open. */
export interface SourceOptions {
  readonly runId: string;
  readonly connectionId: string;
  readonly setup: ConnectionSetup;
  readonly resource: Resource;
  readonly startedAt: Date;
  /** The range of a backfill; null: an ordinary read. */
  readonly backfill: Source['backfill'];
  /** Takes the log of each request. */
  readonly logCall: (call: LoggedCall) => void;
  /** Called before a wait for a rate limit, ours or the API's, with its length. */
  readonly onRateLimit?: (waitMs: number, reason: ThrottleReason) => void;
  /** The redactor that is given every secret: the current ones to keep, and every later token. */
  readonly redactor: Pick<Redactor, 'add' | 'keep' | 'values'>;
  /** Closes the clients with the run. */
  readonly stack: AsyncDisposableStack;
}

/** Makes a resource ready for reading; nothing is sent yet. Throws `auth_failed` when a secret is empty, `spec_invalid`. */
export async function assembleSource(ports: SourcePorts, options: SourceOptions): Promise<OpenedSource> {
  const { runId, connectionId, setup, resource, startedAt, backfill, logCall, redactor, stack } = options;
  const { spec, params, secrets } = setup;
  const mask = (secret: string): void => {
    redactor.add(secret);
    client.addSecret(secret);
    tokenClient.addSecret(secret);
  };
  const described: Omit<Source, 'client' | 'tokens' | 'watermark'> = {
    resource,
    http: spec.http,
    auth: resource.auth ?? spec.auth,
    specChecksum: setup.specChecksum,
    params,
    secrets,
    lookups: {},
    each: {},
    run: { id: runId, startedAt: startedAt.toISOString(), mode: backfill === null ? 'incremental' : 'backfill' },
    backfill,
    validators: null,
    responses: null,
    decodeTurns: ports.decodeTurns,
    evaluator: ports.evaluator,
    mask,
    masked: (text) => redactor.values(text),
    now: () => new Date(),
  };
  const secretValues = await credentialValues(described);
  redactor.keep(secretValues);
  const shared = { egress: ports.egress, secrets: secretValues, logCall };
  const limited = { connectionId, specKey: spec.metadata.key, http: spec.http };
  const client = createHttpClient({
    ...shared,
    ...(ports.socketCache && { sockets: ports.socketCache.open(connectionId) }),
    ...(options.onRateLimit ? { onRateLimit: options.onRateLimit } : {}),
    ...limitsOverBuckets(ports.openBuckets(), limited),
    memory: ports.decodeTurns,
    retry: spec.http.retry,
    redirects: spec.http.redirects,
  });
  const tokenClient = createTokenClient({ ...shared, ...loginLimitsOverBuckets(ports.openBuckets(), limited) });
  stack.use(client);
  stack.use(tokenClient);
  const resourceKey = resource.auth ? resource.key : null;
  const tokens = await openTokens(described, {
    client: tokenClient,
    store: ports.openTokenStore(resourceKey),
    resourceKey,
  });
  return { ...described, client: withConcurrencyMax(client, spec.http.rateLimit.maxConcurrent), tokens };
}
