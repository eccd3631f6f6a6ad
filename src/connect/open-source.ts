import type { OrgScope } from '../../db/scope.ts';
import { createHttpClient, type LoggedCall } from '../core/http/client.ts';
import { withConcurrencyMax } from '../core/http/concurrency.ts';
import type { Redactor } from '../core/http/redact.ts';
import { credentialValues } from '../core/source/auth/credentials.ts';
import { openTokens } from '../core/source/auth/open-tokens.ts';
import { createTokenClient } from '../core/source/auth/token-client.ts';
import type { Source } from '../core/source/source.ts';
import type { Resource } from '../core/spec/schema/spec-schema.ts';
import type { Deps } from '../deps.ts';
import { createLoginRateLimits, createRateLimits } from './rate-limits.ts';
import type { ConnectionSetup } from './setup.ts';
import { createTokenStore, tokenSlot } from './token-store.ts';

/** A resource of a run's connection; the reader chooses its watermark. */
export type OpenedSource = Omit<Source, 'watermark'>;

interface SourceOptions {
  readonly runId: string;
  readonly connectionId: string;
  readonly setup: ConnectionSetup;
  readonly resource: Resource;
  readonly startedAt: Date;
  /** Null: an ordinary read. */
  readonly backfill: Source['backfill'];
  /** Takes the log of each request. */
  readonly logCall: (call: LoggedCall) => void;
  /** Called before a wait for a rate limit, ours or the API's, with its length. */
  readonly onRateLimit?: (waitMs: number) => void;
  /** Is given every secret: the current ones and every later token. */
  readonly redactor: Redactor;
  /** Closes the clients with the run. */
  readonly stack: AsyncDisposableStack;
}

/** Opens a resource for reading; nothing is sent yet. Throws `auth_failed` when a secret is empty, `spec_invalid`. */
export async function openSource(
  deps: Pick<Deps, 'db' | 'secretBox' | 'egress' | 'evaluators'>,
  scope: OrgScope,
  options: SourceOptions,
): Promise<OpenedSource> {
  const { runId, connectionId, setup, resource, startedAt, backfill, logCall, redactor, stack } = options;
  const { spec, params, secrets } = setup;
  const evaluator = deps.evaluators.forOrg(scope.orgId);
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
    evaluator,
    mask,
    now: () => new Date(),
  };
  const secretValues = await credentialValues(described);
  for (const secret of secretValues) redactor.add(secret);
  const shared = { egress: deps.egress, secrets: secretValues, logCall };
  const limited = { connectionId, specKey: spec.metadata.key, http: spec.http };
  const client = createHttpClient({
    ...shared,
    ...(options.onRateLimit ? { onRateLimit: options.onRateLimit } : {}),
    ...createRateLimits(deps.db, scope, limited),
    retry: spec.http.retry,
    redirects: spec.http.redirects,
  });
  const tokenClient = createTokenClient({ ...shared, ...createLoginRateLimits(deps.db, scope, limited) });
  stack.use(client);
  stack.use(tokenClient);
  const resourceKey = resource.auth ? resource.key : null;
  const store = createTokenStore(deps, scope, { connectionId, slot: tokenSlot(resourceKey) });
  const tokens = await openTokens(described, { client: tokenClient, store, resourceKey });
  return { ...described, client: withConcurrencyMax(client, spec.http.rateLimit.maxConcurrent), tokens };
}
