import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Db } from '../../db/client.ts';
import { probe, serviceName } from '../readiness.ts';

/** What the health server of a worker needs. */
export interface WorkerHealthOptions {
  readonly host: string;
  readonly port: number;
  /** The control database, which a worker cannot do without. */
  readonly db: Db;
  /** Whether every queue of the worker is polled: false before the start and from the signal to stop. */
  readonly isPolling: () => boolean;
}

/** How long the headers of a request may take, ms. */
const headersTimeout = 5000;
/** Sockets; one orchestrator needs one or two. */
const connectionsMax = 100;

type State = readonly [status: number, body: unknown];

/**
 * The port at which an orchestrator probes a worker. `GET /healthz` responds for as long as the event loop turns,
 * `GET /readyz` with 503 while the worker does not poll or the database is not reachable. Disposing closes it. Rejects
 * when the port is taken.
 */
export async function startWorkerHealth({ host, port, db, isPolling }: WorkerHealthOptions): Promise<AsyncDisposable> {
  let looking: Promise<State> | null = null;
  // One database check at a time, however many requests: the port has no credential.
  const databaseState = (): Promise<State> => {
    looking ??= look(db).finally(() => {
      looking = null;
    });
    return looking;
  };
  const stateOf = async ({ method, url }: IncomingMessage): Promise<State> => {
    if (method === 'GET' && url === '/healthz') return [200, { status: 'ok', service: serviceName }];
    if (method !== 'GET' || url !== '/readyz') return [404, { status: 'not_found' }];
    return isPolling() ? await databaseState() : [503, { status: 'not_ready', detail: 'the worker does not poll' }];
  };
  const server = createServer({ headersTimeout, requestTimeout: headersTimeout }, (request, response) => {
    void stateOf(request).then((state) => respond(response, state));
  });
  server.maxConnections = connectionsMax;
  const listening = Promise.withResolvers<void>();
  server.once('error', listening.reject);
  server.listen(port, host, listening.resolve);
  await listening.promise;
  return {
    async [Symbol.asyncDispose]() {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function look(db: Db): Promise<State> {
  const state = await probe(db);
  return [state.status === 'ready' ? 200 : 503, state];
}

/** A connection is for one request: a client that keeps one open would occupy a socket without use. */
function respond(response: ServerResponse, [status, body]: State): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store', connection: 'close' });
  response.end(JSON.stringify(body));
}
