import { randomBytes } from 'node:crypto';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { Config } from '../../config/config.ts';
import type { Log } from '../../log.ts';
import { lockDataDir } from './data-dir-lock.ts';
import { startPostgres } from './postgres.ts';
import { type Guardian, startGuardian } from './start-guardian.ts';
import { startTemporal } from './temporal-server.ts';

export interface EmbeddedServices {
  readonly databaseUrl: string;
  /** `host:port`. */
  readonly temporalAddress: string;
  readonly temporalNamespace: string;
  /** `null` when Temporal is external. */
  readonly uiUrl: string | null;
  /** Empty for external services. */
  readonly env: Readonly<Record<string, string>>;
  readonly guardian: Guardian;
  /** `null` if external, and while a restart is pending. */
  pids(): { readonly postgres: number | null; readonly temporal: number | null };
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  /** The pids have changed. */
  readonly onStart?: () => void;
}

/**
 * Starts those that the configuration does not name; one supervisor per `DATA_DIR`.
 * @throws DataDirInUseError when another process supervises this `DATA_DIR`; it is not disturbed.
 * @throws Error when one of them does not start; the other is stopped again.
 */
export async function startEmbedded(
  config: Config,
  log: Log,
  { onStart }: EmbeddedOptions = {},
): Promise<EmbeddedServices> {
  await using stack = new AsyncDisposableStack();
  const lock = lockDataDir(config.dataDir, config.publicUrl);
  stack.defer(() => lock.release());
  const guardian = stack.adopt(startGuardian(log), (started) => started.close());
  const surroundings = { guardian, log, ...(onStart && { onStart }) };
  // A user of the dev server's UI may do anything with its workflows, so reading their payloads adds no risk.
  const codecToken = config.temporalCodecToken ?? randomBytes(32).toString('base64url');
  const codecEndpoint = `${config.publicUrl}/api/codec/${codecToken}`;
  // In parallel: each takes about half a second.
  const [postgres, temporal] = await Promise.allSettled([
    config.databaseUrl === null ? startPostgres(config.dataDir, surroundings) : null,
    config.temporalConfigured ? null : startTemporal({ ...config, codecEndpoint, ...surroundings }),
  ]);
  // In parallel: neither uses the other, and each needs time to write its data.
  const processes = [temporal, postgres].flatMap((result) =>
    result.status === 'fulfilled' && result.value !== null ? [result.value.process] : [],
  );
  if (temporal.status === 'fulfilled' && temporal.value !== null) stack.use(temporal.value.ui);
  stack.defer(async () => void (await Promise.all(processes.map((process) => process.stop()))));
  if (postgres.status === 'rejected') throw postgres.reason;
  if (temporal.status === 'rejected') throw temporal.reason;
  const started = stack.move();
  const described = describe({ ...config, codecToken }, postgres.value, temporal.value);
  return { ...described, guardian, stop: () => started.disposeAsync() };
}

type Described = Omit<EmbeddedServices, 'guardian' | 'stop'>;

function describe(
  config: Config & { readonly codecToken: string },
  postgres: Awaited<ReturnType<typeof startPostgres>> | null,
  temporal: Awaited<ReturnType<typeof startTemporal>> | null,
): Described {
  const { connectionOptions, namespace } = temporal
    ? { connectionOptions: {}, ...temporal }
    : loadClientConnectConfig();
  return {
    databaseUrl: postgres?.databaseUrl ?? config.databaseUrl ?? '',
    temporalAddress: temporal?.address ?? connectionOptions.address ?? 'localhost:7233',
    temporalNamespace: namespace ?? 'default',
    uiUrl: temporal?.uiUrl ?? null,
    env: {
      ...(postgres && { DATABASE_URL: postgres.databaseUrl }),
      ...(temporal && {
        TEMPORAL_ADDRESS: temporal.address,
        TEMPORAL_NAMESPACE: temporal.namespace,
        TEMPORAL_CODEC_TOKEN: config.codecToken,
      }),
      ...(temporal && config.temporalUiUrl === null && { TEMPORAL_UI_URL: temporal.uiUrl }),
    },
    pids: () => ({ postgres: postgres?.process.pid() ?? null, temporal: temporal?.process.pid() ?? null }),
  };
}
