import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { listening } from '../listening.ts';
import { refuseAddress, respondToParserErrors } from './gates/wire-errors.ts';
import type { ApiEnv } from './serve-route.ts';

/** Where to listen. */
export interface ListenOptions {
  readonly host: string;
  /** The port to listen on; 0: any free one. */
  readonly port: number;
  /** The time for the headers of a request in milliseconds; 15,000 unless given. Node's default is 60 s. */
  readonly headersTimeoutMs?: number;
}

/** A server that listens. */
export interface ApiServer {
  /** The port it got. */
  readonly port: number;
  /**
   * Stops the server. For `noticeMs` it serves on, and every response closes its connection: whoever balances the load
   * sees meanwhile that the process is not ready. Then it takes no new requests, ends the open ones, and after
   * `drainMs` cuts those that are left.
   */
  stop(noticeMs?: number): Promise<void>;
}

/** The time for a whole request to arrive, body included, in milliseconds. Node's default is 300 s. */
const requestTimeout = 30_000;
const keepAliveTimeout = 5000;
/** Bytes; above it Node responds with 431. */
const maxHeaderSize = 16_384;
/** The most open sockets; far above what one process serves, far below what its memory and descriptors hold. */
const connectionsMax = 10_000;
/** The time for a request to end when the process must stop, in milliseconds. */
const drainMs = 10_000;

/** Serves the app. Rejects when the port is taken, and says which. */
export async function listen(
  app: Pick<Hono<ApiEnv>, 'fetch'>,
  { host, port, headersTimeoutMs: headersTimeout = 15_000 }: ListenOptions,
): Promise<ApiServer> {
  // Late requests are checked three times within the shorter limit; a slow socket can stay that much longer.
  const connectionsCheckingInterval = headersTimeout / 3;
  const limits = { headersTimeout, requestTimeout, connectionsCheckingInterval, keepAliveTimeout, maxHeaderSize };
  // The app responds to its own errors; the adapter only handles requests without a URL. Its own Response class, which
  // only becomes a real one on access, halves the cost of the adapter.
  const options = { overrideGlobalObjects: true, errorHandler: refuseAddress };
  const respond = getRequestListener(app.fetch, options);
  // Load balancers still probe with HTTP/1.0, which has no Host header.
  const respondToOld = getRequestListener(app.fetch, { ...options, hostname: 'localhost' });
  let isStopping = false;
  const serve = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    // Otherwise the client might send its next request just when the connection is closed.
    if (isStopping) outgoing.shouldKeepAlive = false;
    // The adapter responds to every request itself, also to failed ones: there is nothing to wait for.
    void (incoming.httpVersion === '1.0' ? respondToOld : respond)(incoming, outgoing);
  };
  const server = createServer({ ...limits, requireHostHeader: false }, serve);
  // An expectation that is not known may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', serve);
  respondToParserErrors(server);
  server.maxConnections = connectionsMax;
  await listening(server, { host, port, variable: 'PORT' });
  return {
    port: portOf(server),
    async stop(noticeMs = 0) {
      isStopping = true;
      await sleep(noticeMs);
      await stop(server);
    },
  };
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server does not listen on a port.');
  return address.port;
}

async function stop(server: Server): Promise<void> {
  const closed = Promise.withResolvers<void>();
  server.close(() => closed.resolve());
  server.closeIdleConnections();
  const cut = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed.promise;
  clearTimeout(cut);
}
