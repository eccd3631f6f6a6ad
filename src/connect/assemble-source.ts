import type { Evaluator } from '../core/expressions/evaluation.ts';
import { createHttpClient } from '../core/http/client.ts';
import { withConcurrencyMax } from '../core/http/concurrency.ts';
import type { EgressGuard } from '../core/http/egress.ts';
import type { LoggedCall } from '../core/http/logged-call.ts';
import type { Redactor } from '../core/http/redact.ts';
import type { SocketCache } from '../core/http/sockets.ts';
import type { ThrottleReason } from '../core/model/throttled.ts';
import type { FindApp } from '../core/source/auth/client-app.ts';
import { credentialValues } from '../core/source/auth/credentials.ts';
import { openTokens } from '../core/source/auth/open-tokens.ts';
import { createTokenClient } from '../core/source/auth/token-client.ts';
import type { TokenStore } from '../core/source/auth/token-store.ts';
import type { DecodeTurns } from '../core/source/decode/decode-turns.ts';
import type { Source } from '../core/source/source.ts';
import type { Auth } from '../core/spec/schema/auth-schema.ts';
import type { Resource } from '../core/spec/schema/spec-schema.ts';
import { type Buckets, limitsOverBuckets, loginLimitsOverBuckets } from './limits-over-buckets.ts';
import { type ConnectionSetup, secretTexts } from './setup.ts';

/** A resource ready for reading; the reader chooses its watermark. */
export type OpenedSource = Omit<Source, 'watermark'>;

export interface SourcePorts {
  readonly egress: EgressGuard;
  /** Sockets that outlive the run, or `null` if it has its own. */
  readonly socketCache: SocketCache | null;
  readonly evaluator: Evaluator;
  readonly decodeTurns: DecodeTurns;
  readonly openBuckets: () => Buckets;
  /** The token store of a resource with its own auth; `null` means the auth of the spec. */
  readonly openTokenStore: (resourceKey: string | null, auth: Auth) => TokenStore;
  readonly apps: FindApp;
}

export interface SourceOptions {
  readonly runId: string;
  readonly connectionId: string;
  readonly setup: ConnectionSetup;
  readonly resource: Resource;
  readonly startedAt: Date;
  /** `null` for an ordinary read. */
  readonly backfill: Source['backfill'];
  readonly logCall: (call: LoggedCall) => void;
  readonly onRateLimit?: (waitMs: number, reason: ThrottleReason) => void;
  /** Is given the current secrets to keep, and every later token. */
  readonly redactor: Pick<Redactor, 'add' | 'keep' | 'values'>;
  readonly stack: AsyncDisposableStack;
}

/** Sends nothing yet; throws `auth_failed` when a secret is empty, and `spec_invalid`. */
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
    apps: ports.apps,
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
  const secretValues = [...new Set([...secretTexts(setup), ...(await credentialValues(described))])];
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
    store: ports.openTokenStore(resourceKey, described.auth),
    resourceKey,
  });
  return { ...described, client: withConcurrencyMax(client, spec.http.rateLimit.maxConcurrent), tokens };
}
