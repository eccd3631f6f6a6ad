import { getHeapStatistics } from 'node:v8';
import {
  Client,
  Connection,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
  type WorkflowClientInterceptor,
} from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { Kysely } from 'kysely';
import { openDatabase, type PoolCounts } from '../db/client.ts';
import type { Database } from '../db/schema.ts';
import type { Config } from './config/config.ts';
import { consoleKeyRing, embedKeyRing, oauthStateKeyRing, secretsKeyRing } from './config/dev-secrets.ts';
import type { KeyRing } from './config/key-ring.ts';
import { createPayloadCodec, type PayloadCodec } from './core/crypto/payload-codec.ts';
import { createSecretBox, type SecretBox } from './core/crypto/secret-box.ts';
import { withCompiledExpressions } from './core/expressions/compiled-evaluator.ts';
import { createEvaluatorPool, type EvaluatorPool } from './core/expressions/evaluator-pool.ts';
import { parseAllowList, parseDenyList } from './core/http/addresses.ts';
import { createEgressGuard, type EgressGuard } from './core/http/egress.ts';
import { createSocketCache, type SocketCache } from './core/http/sockets.ts';
import { createDecodeQueue, type DecodeQueue } from './core/source/decode/decode-turns.ts';
import { apartFromWork } from './core/work-ids.ts';
import type { Log } from './log.ts';
import { createDataConverter, createWorkerConverter } from './temporal/data-converter.ts';
import { createOrchestrator, type Orchestrator } from './temporal/orchestrator.ts';

export interface OauthSettings {
  readonly stateKeys: KeyRing;
  readonly redirectUri: string;
}

interface EmbedSettings {
  /** Signs embed tokens; `null` if not configured. */
  readonly keys: KeyRing | null;
  /** The issuer in tokens: tokens of another deployment do not verify. */
  readonly issuer: string;
  /** Origins of pages that may read it, or `*` for all. */
  readonly allowedOrigins: '*' | readonly string[];
}

interface CodecSettings {
  /** The token in the codec's address: everyone who knows it can decrypt payloads. */
  readonly token: string;
  readonly codec: PayloadCodec;
}

export interface ConsoleSettings {
  readonly sessionKeys: KeyRing;
  /** Where the Temporal UI shows the workflows of this deployment, or `null` if unknown. */
  readonly temporalUi: { readonly url: string; readonly namespace: string } | null;
}

export interface Deps extends AsyncDisposable {
  readonly config: Config;
  readonly log: Log;
  readonly db: Kysely<Database>;
  readonly poolCounts: () => PoolCounts;
  /** Connected lazily: a process starts and responds while Temporal is away. */
  readonly temporal: Client;
  /** Encrypts Temporal's data with the keys of `secretBox`. */
  readonly dataConverter: DataConverter;
  readonly orchestrator: Orchestrator;
  readonly secretBox: SecretBox;
  readonly egress: EgressGuard;
  readonly socketCache: SocketCache;
  readonly decodeQueue: DecodeQueue;
  readonly evaluators: EvaluatorPool;
  /** `null` if not configured. */
  readonly oauth: OauthSettings | null;
  readonly embed: EmbedSettings;
  /** `null` if not configured. */
  readonly codec: CodecSettings | null;
  readonly console: ConsoleSettings;
  /** Base of links to the API, without a trailing slash. */
  readonly publicUrl: string;
  /** Destination of specs that declare none, or `null`. */
  readonly defaultDestination: unknown;
  readonly scheduleMinIntervalSeconds: number;
  /** Average requests per second of one API key, or `null` for no limit. */
  readonly requestsPerSecond: number | null;
}

interface TracedClient {
  readonly clientInterceptors: WorkflowClientInterceptor[];
}

const untraced: TracedClient = { clientInterceptors: [] };

/** Share of the heap for decoded responses: as records, rows and a batch they take up to three times as much. */
const responsesShare = 0.25;

/** Disposing closes everything in reverse order. */
export function createDeps(config: Config, log: Log, { clientInterceptors }: TracedClient = untraced): Deps {
  if (config.databaseUrl === null)
    throw new Error('DATABASE_URL is not set; `npm start` provides an embedded database');
  const stack = new AsyncDisposableStack();
  let poolCounts = (): PoolCounts => ({ size: config.databasePoolSize, open: 0, idle: 0, waiting: 0 });
  const db = openDatabase(config.databaseUrl, {
    onPool: (counts) => {
      poolCounts = counts;
    },
    poolSize: config.databasePoolSize,
    applicationName: 'connector-sync',
    onIdleError: (error) => apartFromWork(() => log.warn('database connection lost', { error })),
  });
  stack.defer(() => db.destroy());
  const keyRing = secretsKeyRing(config);
  const dataConverter = createWorkerConverter(keyRing);
  const { temporal, namespace } = openTemporal(stack, {
    dataConverter: createDataConverter(keyRing),
    clientInterceptors,
  });
  const egress = createEgressGuard({
    allow: parseAllowList(config.egressAllow),
    deny: parseDenyList(config.egressDeny),
    allowHttp: config.egressAllowHttp,
    proxy: config.egressProxy,
  });
  return {
    config,
    log,
    db,
    poolCounts,
    temporal,
    dataConverter,
    orchestrator: createOrchestrator(temporal, log),
    secretBox: createSecretBox(keyRing),
    egress,
    socketCache: createSocketCache(egress),
    decodeQueue: createDecodeQueue(getHeapStatistics().heap_size_limit * responsesShare),
    evaluators: stack.use(withCompiledExpressions(createEvaluatorPool())),
    oauth: oauthSettings(config),
    embed: { keys: embedKeyRing(config), issuer: config.publicUrl, allowedOrigins: config.embedAllowedOrigins },
    codec:
      config.temporalCodecToken === null
        ? null
        : { token: config.temporalCodecToken, codec: createPayloadCodec(keyRing) },
    console: { sessionKeys: consoleKeyRing(config), temporalUi: temporalUi(config, namespace) },
    publicUrl: config.publicUrl,
    defaultDestination: config.defaultDestination,
    scheduleMinIntervalSeconds: config.scheduleMinIntervalSeconds,
    requestsPerSecond: config.apiRequestsPerSecond,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Connects with its first call; closed by `stack`. */
function openTemporal(
  stack: AsyncDisposableStack,
  { dataConverter, clientInterceptors }: TracedClient & { readonly dataConverter: DataConverter },
): { readonly temporal: Client; readonly namespace: string } {
  const { connectionOptions, namespace = 'default' } = loadClientConnectConfig();
  // The SDK's own ten retries oversleep the deadline of a call; the sweeper is the patient one.
  const retry = makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts: 3 }));
  // gRPC itself would wait up to two minutes between attempts to connect: long after Temporal is back.
  const channelArgs = { 'grpc.max_reconnect_backoff_ms': 5000 };
  const connection = Connection.lazy({ ...connectionOptions, interceptors: [retry], channelArgs });
  stack.defer(() => connection.close());
  const interceptors = { workflow: clientInterceptors };
  return { temporal: new Client({ connection, namespace, dataConverter, interceptors }), namespace };
}

function oauthSettings(config: Config): OauthSettings | null {
  const stateKeys = oauthStateKeyRing(config);
  return stateKeys && { stateKeys, redirectUri: `${config.publicUrl}/api/v1/oauth/callback` };
}

const temporalUi = ({ temporalUiUrl: url }: Config, namespace: string): ConsoleSettings['temporalUi'] =>
  url === null ? null : { url: url.replace(/\/+$/, ''), namespace };
