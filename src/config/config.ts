/** The only place that reads, checks and explains the environment. */
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import * as v from 'valibot';
import * as form from './env-forms.ts';
import { keyRingForm } from './key-ring.ts';

/** Exit code of a process whose environment has issues (`EX_CONFIG` of sysexits). */
export const configExitCode = 78;

/**
 * Task queues of a worker: `control` for workflows and bookkeeping, `sync` for chunks of runs, `webhooks` for deliveries of
 * events.
 */
const workerQueues = ['control', 'sync', 'webhooks'] as const;

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** `messages` names every issue of the environment: variable and expected form, never the value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly messages: readonly string[];

  constructor(messages: readonly string[]) {
    super(`These environment variables must be corrected:\n${messages.map((issue) => `  ${issue}`).join('\n')}`);
    this.messages = messages;
  }
}

const Environment = v.object({
  NODE_ENV: variable(
    v.optional(form.oneOf(['development', 'production', 'test']), 'development'),
    '`production` rejects embedded services and generated secrets.',
  ),
  HOST: variable(
    v.optional(form.text),
    'Address the API and the health port of a worker listen on. Default: 127.0.0.1, and 0.0.0.0 in production.',
  ),
  PORT: variable(v.optional(form.integer(1, 65_535), '3100'), 'Port of the API.'),
  PUBLIC_URL: variable(
    v.optional(form.url('http', 'https')),
    'Address under which callers reach the API. Default: http://localhost:$PORT.',
  ),
  DATA_DIR: variable(
    v.optional(form.text, '.data'),
    'Folder of the embedded data, the generated secrets of development and ready.json.',
  ),
  DATABASE_URL: variable(
    v.optional(form.url('postgres', 'postgresql')),
    'Control database, PostgreSQL 14 or later. Unset: an embedded PostgreSQL (not in production).',
  ),
  DATABASE_POOL_SIZE: variable(v.optional(form.integer(3, 500), '10'), 'Connections one process opens at most.'),
  TEMPORAL_ADDRESS: variable(
    v.optional(form.text),
    'host:port of Temporal. Unset, with TEMPORAL_PROFILE and TEMPORAL_CONFIG_FILE: an embedded dev server. TEMPORAL_NAMESPACE, TEMPORAL_API_KEY and TEMPORAL_TLS_* are read by the Temporal client as Temporal documents them.',
  ),
  TEMPORAL_PROFILE: variable(v.optional(form.text), "Profile of Temporal's own configuration file."),
  TEMPORAL_CONFIG_FILE: variable(v.optional(form.text), "Path of Temporal's own configuration file."),
  TEMPORAL_CODEC_TOKEN: variable(
    v.optional(form.urlToken),
    'Makes the API decrypt what the Temporal UI shows, for anyone who knows it: the codec endpoint of the UI is then $PUBLIC_URL/api/codec/$TEMPORAL_CODEC_TOKEN. Unset: there is none; `npm start` makes one for the UI of its embedded dev server. Make one with: node -p "crypto.randomBytes(32).toString(\'base64url\')"',
  ),
  TEMPORAL_UI_URL: variable(
    v.optional(form.url('http', 'https')),
    'Address of the Temporal UI, for the links of the console to the workflow of a run. Unset: no links; `npm start` sets it for its embedded dev server.',
  ),
  TEMPORAL_CLI: variable(
    v.optional(form.text),
    'Path of the Temporal CLI for the embedded dev server. Unset: looked for on PATH, then downloaded.',
  ),
  XDG_CACHE_HOME: variable(
    v.optional(form.text),
    'Downloaded programs are kept in its subfolder connector-sync. Default: ~/.cache.',
  ),
  SECRETS_KEYS: variable(
    v.optional(form.keyRing),
    "Keys that encrypt stored secrets: the first encrypts, all decrypt. Unset: generated into DATA_DIR (not in production). Make one with: node -p \"'k1:'+crypto.randomBytes(32).toString('base64')\"",
  ),
  OAUTH_STATE_KEYS: variable(
    v.optional(form.keyRing),
    'Keys that sign the state of an OAuth authorization: the first signs, all verify. Unset: generated, and in production the OAuth endpoints respond with 500.',
  ),
  EMBED_KEYS: variable(
    v.optional(form.keyRing),
    'Keys that sign embed tokens: the first signs, all verify. Unset: generated, and in production POST /tokens/embed responds with 500.',
  ),
  EMBED_ALLOWED_ORIGINS: variable(
    v.optional(form.origins, '*'),
    'Origins of pages that may show the freshness of a connection. The embed token is the credential, so by default every page may.',
  ),
  EGRESS_ALLOW: variable(
    v.optional(form.allowList, ''),
    'Addresses that are allowed although they are not public: host-or-CIDR:port, separated by commas. Plain http is allowed to these.',
  ),
  EGRESS_DENY: variable(
    v.optional(form.denyList, ''),
    'Addresses that are blocked although they are public: addresses or CIDR blocks, separated by commas.',
  ),
  EGRESS_ALLOW_HTTP: variable(v.optional(form.flag, '0'), '1 allows plain http to public addresses.'),
  EGRESS_PROXY: variable(
    v.optional(form.egressProxy),
    'Forward proxy that takes every HTTP request to customers by CONNECT, plain http too, and resolves their host names: its rules then decide which addresses names may resolve to, EGRESS_DENY applies only to addresses in URLs, and EGRESS_ALLOW must list a name as host:port. Connections to database destinations do not use it. Unset: no proxy; HTTP_PROXY and its like are not read.',
  ),
  DEFAULT_DESTINATION: variable(
    v.optional(form.jsonObject),
    'Destination of specs that declare none, in the form a spec declares it. All orgs share it: in a database each has a schema of its own, <schema>_<org id>, and of the URL of a webhook they see the origin only.',
  ),
  SCHEDULE_MIN_INTERVAL_SECONDS: variable(
    v.optional(form.integer(1, 86_400), '1'),
    'Cron expressions that fire more often are rejected.',
  ),
  API_REQUESTS_PER_SECOND: variable(
    v.optional(form.integer(1, 100_000)),
    'Requests per second that one API key may make at one API process, and once a minute five times as many at once; rejected credentials are then limited too, to 20 per second and 300 at once from one address. More requests get 429. Unset: no limit.',
  ),
  API_DRAIN_SECONDS: variable(
    v.optional(form.integer(0, 120)),
    'Seconds for which an API that was told to stop serves on while it is not ready, so that a load balancer sends it nothing new: more than the interval of its checks. Default: 0, and 5 in production.',
  ),
  WEBHOOK_RETRY_SCHEDULE_SECONDS: variable(
    v.optional(form.seconds, '5,30,120,300,1800,7200,18000,36000,50400,72000,86400'),
    'Seconds between the attempts to deliver an event, each up to a fifth shorter or longer. There is one attempt more than there are delays.',
  ),
  RETENTION_DAYS: variable(
    v.optional(form.integer(1, 3650), '90'),
    'Days for which calls, ledgers of ended runs, events with their deliveries, resolved quarantined records, and API keys that were revoked or have expired are kept. Runs and their counts, watermarks, known records, unresolved quarantined records and events that are pending are kept for ever.',
  ),
  RECORD_BYTES_MAX: variable(
    v.optional(form.integer(1024, 16_777_216), '1048576'),
    'Bytes that a record of an API may have as JSON. A larger one is invalid; the quarantine stores only its beginning.',
  ),
  WORKER_QUEUES: variable(
    v.optional(form.listOf(workerQueues), 'control,sync,webhooks'),
    'Task queues this worker serves.',
  ),
  WORKER_CONCURRENCY: variable(
    v.optional(form.integer(1, 1000), '20'),
    'Runs that one worker advances at the same time.',
  ),
  CSS_DEPLOYMENT_NAME: variable(
    v.optional(form.deploymentName),
    'Name of the worker deployment in Temporal, the same for all workers. With CSS_BUILD_ID, workers are versioned: a run ends on the build that it began on (a very long one moves on when its history is restarted), and a build gets runs once it is made current (`npm run admin -- worker-version current`). Unset: off.',
  ),
  CSS_BUILD_ID: variable(
    v.optional(form.buildId),
    'Which build of the service this worker is, such as a version or a commit. Set it together with CSS_DEPLOYMENT_NAME.',
  ),
  WORKER_HEALTH_PORT: variable(
    v.optional(form.integer(1, 65_535)),
    'Port at which a worker responds to health probes: GET /healthz while its event loop turns, GET /readyz while it polls every queue and reaches the database and Temporal. Unset: none.',
  ),
  METRICS_PORT: variable(
    v.optional(form.integer(1, 65_534)),
    'Port at which a process serves its Prometheus metrics: GET /metrics, without a credential, on HOST; keep it off the public network. `npm start` gives it to the API, and the next port to the worker. Unset: nothing is measured.',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: variable(
    v.optional(form.url('http', 'https')),
    'Where traces are sent (OTLP over HTTP): the address of a collector, to which /v1/traces is added. Unset, with OTEL_EXPORTER_OTLP_TRACES_ENDPOINT and OTEL_TRACES_EXPORTER: nothing is traced. OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER, OTEL_BSP_* and the other OTEL_EXPORTER_OTLP_* are read as OpenTelemetry documents them.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: variable(
    v.optional(form.url('http', 'https')),
    'The whole address to which traces are sent, if it is not below OTEL_EXPORTER_OTLP_ENDPOINT.',
  ),
  OTEL_EXPORTER_OTLP_PROTOCOL: variable(
    v.optional(form.oneOf(['http/protobuf', 'http/json']), 'http/protobuf'),
    'How traces are encoded. gRPC is not supported.',
  ),
  OTEL_TRACES_EXPORTER: variable(
    v.optional(form.oneOf(['otlp', 'none'])),
    '`none` sends no traces although an endpoint is set; `otlp` sends them, to http://localhost:4318 unless an endpoint is set.',
  ),
  OTEL_SDK_DISABLED: variable(v.optional(form.boolean, 'false'), '`true` traces nothing.'),
  LOG_LEVEL: variable(v.optional(form.oneOf(logLevels), 'info'), 'Least severe level that is logged.'),
});

type Environment = v.InferOutput<typeof Environment>;

/** The field of a variable: `DATABASE_POOL_SIZE` is `databasePoolSize`. */
type FieldOf<Name extends string> = Name extends `${infer Word}_${infer Rest}`
  ? `${Lowercase<Word>}${Capitalize<FieldOf<Rest>>}`
  : Lowercase<Name>;

/** The variables as fields, `null` if unset and without a default. */
type Fields = {
  readonly [Name in keyof Environment as FieldOf<Name>]-?:
    | Exclude<Environment[Name], undefined>
    | (undefined extends Environment[Name] ? null : never);
};

export interface Config extends Fields {
  /** True under NODE_ENV=production: no embedded services, no generated secrets. */
  readonly production: boolean;
  readonly host: string;
  readonly apiDrainSeconds: number;
  /** Base of links to the API, without a trailing slash. */
  readonly publicUrl: string;
  /** Absolute. */
  readonly dataDir: string;
  /** If false, an embedded dev server is to be started. */
  readonly temporalConfigured: boolean;
  /** Folder for programs that are downloaded once per user. */
  readonly cacheDir: string;
}

/**
 * An empty variable counts as unset.
 * @throws ConfigError naming all issues at once. The caller then exits with {@link configExitCode}.
 */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value.trim() !== ''));
  const { success, output, issues } = v.safeParse(Environment, set);
  const messages = [...issuesOfForm(issues ?? []), ...issuesOfBuild(set), ...issuesOfProduction(set)];
  if (!success || messages.length > 0) throw new ConfigError(messages);
  const production = output.NODE_ENV === 'production';
  return {
    ...fieldsOf(output),
    production,
    host: output.HOST ?? (production ? '0.0.0.0' : '127.0.0.1'),
    apiDrainSeconds: output.API_DRAIN_SECONDS ?? (production ? 5 : 0),
    publicUrl: (output.PUBLIC_URL ?? `http://localhost:${output.PORT}`).replace(/\/+$/, ''),
    dataDir: resolve(output.DATA_DIR),
    temporalConfigured: temporalVariables.some((name) => output[name] !== undefined),
    cacheDir: join(output.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'connector-sync'),
  };
}

const fieldsOf = (output: Environment): Fields =>
  Object.fromEntries(
    Object.keys(Environment.entries).map((name) => [fieldOf(name), Reflect.get(output, name) ?? null]),
  ) as Fields;

const fieldOf = (name: string): string =>
  name.toLowerCase().replaceAll(/_(\w)/g, (_all, letter: string) => letter.toUpperCase());

/** The entry of a variable in `.env.example`. */
export interface VariableDoc {
  readonly name: string;
  readonly meaning: string;
  readonly form: string;
  /** `null` if it has no default, or one that depends on other variables, as `meaning` says. */
  readonly fallback: string | null;
}

export function describeVariables(): readonly VariableDoc[] {
  return Object.entries(Environment.entries).map(([name, entry]) => ({
    name,
    meaning: v.getTitle(entry) ?? '',
    form: v.getDescription(entry) ?? '',
    fallback: v.getDefault(entry) ?? null,
  }));
}

function variable<const S extends v.OptionalSchema<v.GenericSchema, unknown>>(schema: S, meaning: string) {
  return v.pipe(schema, v.title(meaning), v.description(v.getDescription(schema.wrapped) ?? 'text'));
}

const temporalVariables = ['TEMPORAL_ADDRESS', 'TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE'] as const;

function issuesOfForm(issues: readonly v.InferIssue<typeof Environment>[]): readonly string[] {
  const failing = new Set(issues.map((issue) => v.getDotPath(issue)?.split('.')[0]));
  return describeVariables()
    .filter(({ name }) => failing.has(name))
    .map(({ name, form: expected }) => `${name} must be ${expected}`);
}

/** A build without a name, or the reverse, would silently not be versioned. */
function issuesOfBuild(set: Readonly<Record<string, unknown>>): readonly string[] {
  const [name, build] = [set['CSS_DEPLOYMENT_NAME'], set['CSS_BUILD_ID']];
  if ((name === undefined) === (build === undefined)) return [];
  const [missing, given] =
    name === undefined ? ['CSS_DEPLOYMENT_NAME', 'CSS_BUILD_ID'] : ['CSS_BUILD_ID', 'CSS_DEPLOYMENT_NAME'];
  return [`${missing} must be set together with ${given}: both version the workers, neither leaves them unversioned`];
}

function issuesOfProduction(set: Readonly<Record<string, unknown>>): readonly string[] {
  if (set['NODE_ENV'] !== 'production') return [];
  const messages: string[] = [];
  if (set['SECRETS_KEYS'] === undefined) messages.push(`SECRETS_KEYS must be set in production: ${keyRingForm}`);
  if (set['DATABASE_URL'] === undefined)
    messages.push('DATABASE_URL must be set in production: the URL of a PostgreSQL database');
  if (temporalVariables.every((name) => set[name] === undefined)) {
    messages.push(`One of ${temporalVariables.join(', ')} must be set in production: where Temporal is`);
  }
  return messages;
}
