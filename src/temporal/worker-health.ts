import type { Db } from '../../db/client.ts';
import { probe, type Readiness, serviceName } from '../database-readiness.ts';
import { jsonPage, type OperatorPage, type OperatorPortOptions, serveOperators } from '../operator-port.ts';

export interface WorkerHealthOptions extends Pick<OperatorPortOptions, 'host' | 'port' | 'log'> {
  readonly db: Db;
  /** True while every queue of the worker is polled: false before the start and from the signal to stop. */
  readonly isPolling: () => boolean;
  /** Rejects when Temporal does not respond, or was never reached. */
  readonly reachTemporal: () => Promise<unknown>;
}

/**
 * For an orchestrator's probes. `GET /healthz` responds as long as the event loop turns. `GET /readyz` responds with 503
 * while the worker does not poll, or Temporal or the database is not reachable. Disposing closes the port; rejects when the
 * port is taken.
 */
export function startWorkerHealth({ host, port, log, ...probed }: WorkerHealthOptions): Promise<AsyncDisposable> {
  let looking: Promise<OperatorPage> | null = null;
  // Requests share one check at a time: the port has no credential.
  const readiness = (): Promise<OperatorPage> => {
    looking ??= look(probed).finally(() => {
      looking = null;
    });
    return looking;
  };
  const pages = {
    '/healthz': async () => jsonPage(200, { status: 'ok', service: serviceName }),
    '/readyz': readiness,
  };
  return serveOperators({ host, port, log, variable: 'WORKER_HEALTH_PORT', pages });
}

type Probed = Omit<WorkerHealthOptions, 'host' | 'port' | 'log'>;

async function look(probed: Probed): Promise<OperatorPage> {
  const state = await readinessOf(probed);
  return jsonPage(state.status === 'ready' ? 200 : 503, state);
}

async function readinessOf({ db, isPolling, reachTemporal }: Probed): Promise<Readiness> {
  // A starting worker may not poll because one of them is away: the cause comes first.
  const [database, temporal] = await Promise.all([probe(db), reachTemporal().then(isThere, isAway)]);
  if (database.status === 'not_ready') return database;
  if (!temporal) return { status: 'not_ready', detail: 'Temporal does not respond' };
  return isPolling() ? database : { status: 'not_ready', detail: 'the worker does not poll' };
}

const isThere = (): boolean => true;
const isAway = (): boolean => false;
