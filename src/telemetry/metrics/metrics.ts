/**
 * Metrics of a process for Prometheus: counts observations, reads the backlog for each scrape, and passes on Temporal's own
 * exporter. The only room that knows a metrics library.
 *
 * A counter counts commits of one process, from 0: a crash between a commit and its count loses the count, and nothing is
 * counted twice. Labels never name an org.
 */
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Backlog } from '../../../db/queries/runs/maintenance/backlog.ts';
import manifest from '../../../package.json' with { type: 'json' };
import { type OperatorPage, type OperatorPortOptions, serveOperators } from '../../operator-port.ts';
import { createBacklogGauges } from './backlog-gauges.ts';
import { readCoreMetrics } from './core-exporter.ts';
import { countObservations } from './counters.ts';
import { addPoolGauges, type PoolSources } from './pool-gauges.ts';
import { createTotalGauges, type Totals } from './total-gauges.ts';

export interface MetricsOptions extends PoolSources, Pick<OperatorPortOptions, 'host' | 'port' | 'log'> {
  readonly process: string;
  readonly readBacklog: () => Promise<Backlog>;
  readonly readTotals: () => Promise<Totals>;
  readonly reachTemporal: () => Promise<unknown>;
  /** Address of Temporal's own exporter, or `null` if this process has none. */
  readonly coreAddress: string | null;
}

/** Counts until disposed, and serves `GET /metrics`; rejects when the port is taken. */
export async function serveMetrics({ host, port, log, ...options }: MetricsOptions): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  addInfo(registry, options);
  stack.defer(countObservations(registry));
  addPoolGauges(registry, options);
  const updateBacklog = createBacklogGauges(registry, options);
  const updateTotals = createTotalGauges(registry, options);
  const page = async (): Promise<OperatorPage> => {
    const [core] = await Promise.all([
      options.coreAddress === null ? '' : readCoreMetrics(options.coreAddress),
      updateBacklog(),
      updateTotals(),
    ]);
    return { status: 200, type: registry.contentType, body: `${await registry.metrics()}${core}` };
  };
  stack.use(await serveOperators({ host, port, log, variable: 'METRICS_PORT', pages: { '/metrics': page } }));
  const opened = stack.move();
  return { [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

function addInfo(registry: Registry, { process }: Pick<MetricsOptions, 'process'>): void {
  const { version } = manifest;
  const help = 'Always 1; its labels say which kind of process this is, and of which version.';
  const name = 'connector_sync_process_info';
  new Gauge({ name, help, labelNames: ['process', 'version'], registers: [registry] }).set({ process, version }, 1);
}
