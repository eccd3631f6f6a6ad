/** Metrics and traces of a process, off by default; their libraries are loaded only when on. */
import { countAllConnections } from '../../db/queries/connections/health.ts';
import { readDatabaseBytes } from '../../db/queries/maintenance/database-size.ts';
import { readBacklog } from '../../db/queries/runs/maintenance/backlog.ts';
import { countAllEndpoints } from '../../db/queries/webhooks/endpoints.ts';
import type { Config } from '../config/config.ts';
import type { Deps } from '../deps.ts';
import type { SlotCounts } from '../temporal/worker-slots.ts';
import type { Traces } from './traces/traces.ts';

interface WorkerSources {
  /** Where Temporal's own exporter listens, or `null`. */
  readonly coreAddress: string | null;
  readonly slotCounts: () => SlotCounts;
}

const reachMs = 2000;

/** `null` if METRICS_PORT is not set. */
export async function serveMetricsOf(
  process: 'api' | 'worker',
  { config, log, db, temporal, poolCounts, evaluators }: Deps,
  { coreAddress, slotCounts }: WorkerSources | { readonly coreAddress: null; readonly slotCounts: null } = none,
): Promise<AsyncDisposable | null> {
  const { host, metricsPort: port } = config;
  if (port === null) return null;
  const { serveMetrics } = await import('./metrics/metrics.ts');
  return await serveMetrics({
    host,
    port,
    log,
    process,
    poolCounts,
    evaluators,
    slotCounts,
    coreAddress,
    readBacklog: () => readBacklog(db),
    readTotals: async () => ({
      connections: await countAllConnections(db),
      endpoints: await countAllEndpoints(db),
      databaseBytes: await readDatabaseBytes(db),
    }),
    reachTemporal: () =>
      temporal.connection.withDeadline(Date.now() + reachMs, () => temporal.workflowService.getSystemInfo({})),
  });
}

const none = { coreAddress: null, slotCounts: null };

/** `null` unless the OTEL_* variables ask for traces; call it before anything is opened. */
export async function startTracesOf(process: 'api' | 'worker', config: Config): Promise<Traces | null> {
  const { otelSdkDisabled, otelTracesExporter, otelExporterOtlpProtocol: protocol } = config;
  const endpoint = config.otelExporterOtlpTracesEndpoint ?? config.otelExporterOtlpEndpoint;
  const exporter = otelTracesExporter ?? (endpoint === null ? 'none' : 'otlp');
  if (otelSdkDisabled || exporter === 'none') return null;
  const { startTraces } = await import('./traces/traces.ts');
  return await startTraces({ serviceName: `connector-sync-${process}`, protocol });
}
