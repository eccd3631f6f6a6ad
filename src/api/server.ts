import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { listening } from '../listening.ts';
import { limitPipelined } from './gates/pipelined-requests.ts';
import { cutSlowReaders } from './gates/slow-readers.ts';
import { refuseAddress, respondToParserErrors } from './gates/wire-errors.ts';
import type { ApiEnv } from './serve-route.ts';

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Milliseconds; 15,000 by default, where Node has 60 s. */
  readonly headersTimeoutMs?: number;
  /** Milliseconds in which a client takes what was written; 30,000 by default. Found out within twice the time. */
  readonly readTimeoutMs?: number;
}

export interface ApiServer {
  readonly port: number;
  /**
   * Still serves for `noticeMs`, closing each connection, so that the load balancer sees it is not ready. Then it
   * refuses new requests and lets open ones end; after `drainMs` it cuts the rest.
   */
  stop(noticeMs?: number): Promise<void>;
}

/** For a whole request, body included; Node's default is 300 s. */
const requestTimeout = 30_000;
const keepAliveTimeout = 5000;
/** Bytes; above it Node responds with 431. */
const maxHeaderSize = 16_384;
/** Far above the sockets one process serves, far below its memory and descriptors. */
const connectionsMax = 10_000;
const drainMs = 10_000;

/** Rejects when the port is taken, and names it. */
export async function listen(
  app: Pick<Hono<ApiEnv>, 'fetch'>,
  { host, port, headersTimeoutMs: headersTimeout = 15_000, readTimeoutMs = 30_000 }: ListenOptions,
): Promise<ApiServer> {
  // Node looks for late requests at this interval, three times within the shorter limit; a slow socket lives that much
  // longer.
  const connectionsCheckingInterval = headersTimeout / 3;
  const limits = { headersTimeout, requestTimeout, connectionsCheckingInterval, keepAliveTimeout, maxHeaderSize };
  // The app responds to its own errors; the adapter only handles requests without a URL. Its own Response class, which
  // becomes a real one on access, halves the adapter's cost.
  const options = { overrideGlobalObjects: true, errorHandler: refuseAddress };
  const respond = getRequestListener(app.fetch, options);
  // Load balancers still probe with HTTP/1.0, which has no Host header.
  const respondToOld = getRequestListener(app.fetch, { ...options, hostname: 'localhost' });
  const mayServe = limitPipelined();
  let isStopping = false;
  const serve = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (!mayServe(incoming, outgoing)) return;
    // Otherwise the client might send its next request just when the connection is closed.
    if (isStopping) outgoing.shouldKeepAlive = false;
    // The adapter responds to failed requests itself, so there is nothing to await.
    void (incoming.httpVersion === '1.0' ? respondToOld : respond)(incoming, outgoing);
  };
  const server = createServer({ ...limits, requireHostHeader: false }, serve);
  // An unknown expectation may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', serve);
  respondToParserErrors(server);
  cutSlowReaders(server, readTimeoutMs);
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
