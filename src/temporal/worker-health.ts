import type { Db } from '../../db/client.ts';
import { probe, type Readiness, serviceName } from '../database-readiness.ts';
import { jsonPage, type OperatorPage, type OperatorPortOptions, serveOperators } from '../operator-port.ts';

/** What the health server of a worker needs. */
export interface WorkerHealthOptions extends Pick<OperatorPortOptions, 'host' | 'port' | 'log'> {
  /** The control database, which a worker cannot do without. */
  readonly db: Db;
  /** Whether every queue of the worker is polled: false before the start and from the signal to stop. */
  readonly isPolling: () => boolean;
  /** Asks Temporal for a sign of life; rejects when it does not respond, or was never reached. */
  readonly reachTemporal: () => Promise<unknown>;
}

/**
 * The port at which an orchestrator probes a worker. `GET /healthz` responds for as long as the event loop turns,
 * `GET /readyz` with 503 while the worker does not poll, or Temporal or the database is not reachable. Disposing closes it.
 * Rejects when the port is taken.
 */
export function startWorkerHealth({ host, port, log, ...probed }: WorkerHealthOptions): Promise<AsyncDisposable> {
  let looking: Promise<OperatorPage> | null = null;
  // One check at a time, however many requests: the port has no credential.
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

/** What decides whether a worker is ready. */
type Probed = Omit<WorkerHealthOptions, 'host' | 'port' | 'log'>;

async function look(probed: Probed): Promise<OperatorPage> {
  const state = await readinessOf(probed);
  return jsonPage(state.status === 'ready' ? 200 : 503, state);
}

async function readinessOf({ db, isPolling, reachTemporal }: Probed): Promise<Readiness> {
  // A worker that starts does not poll because one of them is away: the cause comes first.
  const [database, temporal] = await Promise.all([probe(db), reachTemporal().then(isThere, isAway)]);
  if (database.status === 'not_ready') return database;
  if (!temporal) return { status: 'not_ready', detail: 'Temporal does not respond' };
  return isPolling() ? database : { status: 'not_ready', detail: 'the worker does not poll' };
}

const isThere = (): boolean => true;
const isAway = (): boolean => false;
