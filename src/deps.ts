import { Client, Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { Kysely } from 'kysely';
import { openDatabase } from '../db/client.ts';
import type { Database } from '../db/schema.ts';
import type { Config } from './config.ts';
import { createOrchestrator, type Orchestrator } from './control/orchestrator.ts';
import { createSecretBox, type SecretBox } from './core/crypto/secret-box.ts';
import { withCompiledMappings } from './core/expressions/compiled-evaluator.ts';
import { createEvaluatorPool, type Evaluator } from './core/expressions/evaluator-pool.ts';
import { parseAllowList, parseDenyList } from './core/http/addresses.ts';
import { createEgressGuard, type EgressGuard } from './core/http/egress.ts';
import { oauthStateKeyRing, secretsKeyRing } from './dev-secrets.ts';
import type { KeyRing } from './key-ring.ts';
import type { Log } from './log.ts';

/** What authorizing connections at their providers takes. */
export interface OauthSettings {
  /** Signs the state that goes to the provider and comes back. */
  readonly stateKeys: KeyRing;
  /** Where the provider sends the customer back to. */
  readonly redirectUri: string;
}

/** What a process opens once and hands down. */
export interface Deps extends AsyncDisposable {
  readonly config: Config;
  readonly log: Log;
  readonly db: Kysely<Database>;
  /** Connected lazily: a process starts and answers while Temporal is away. */
  readonly temporal: Client;
  readonly orchestrator: Orchestrator;
  readonly secretBox: SecretBox;
  readonly egress: EgressGuard;
  readonly evaluator: Evaluator;
  /** Null: not configured. */
  readonly oauth: OauthSettings | null;
  /** Destination of specs that declare none; null: there is none. */
  readonly defaultDestination: unknown;
  /** A cron expression that fires more often is refused. */
  readonly scheduleMinIntervalSeconds: number;
}

/** Opens what both the API and the worker need. Disposing closes it in reverse order. */
export function createDeps(config: Config, log: Log): Deps {
  if (config.databaseUrl === null)
    throw new Error('DATABASE_URL is not set; `npm start` provides an embedded database');
  const stack = new AsyncDisposableStack();
  const db = openDatabase(config.databaseUrl, {
    poolSize: config.databasePoolSize,
    applicationName: 'connector-sync',
    onIdleError: (error) => log.warn('database connection lost', { error }),
  });
  stack.defer(() => db.destroy());
  const { connectionOptions, namespace } = loadClientConnectConfig();
  // The SDK's own ten retries oversleep the deadline of a call; the sweeper is the patient one.
  const retry = makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts: 3 }));
  const connection = Connection.lazy({ ...connectionOptions, interceptors: [retry] });
  stack.defer(() => connection.close());
  const temporal = new Client({ connection, namespace: namespace ?? 'default' });
  return {
    config,
    log,
    db,
    temporal,
    orchestrator: createOrchestrator(temporal, log),
    secretBox: createSecretBox(secretsKeyRing(config)),
    egress: createEgressGuard({
      allow: parseAllowList(config.egressAllow),
      deny: parseDenyList(config.egressDeny),
      allowHttp: config.egressAllowHttp,
    }),
    evaluator: stack.use(withCompiledMappings(createEvaluatorPool())),
    oauth: oauthSettings(config),
    defaultDestination: config.defaultDestination,
    scheduleMinIntervalSeconds: config.scheduleMinIntervalSeconds,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function oauthSettings(config: Config): OauthSettings | null {
  const stateKeys = oauthStateKeyRing(config);
  return stateKeys && { stateKeys, redirectUri: `${config.publicUrl}/api/v1/oauth/callback` };
}
