import { createServer, type RequestListener } from 'node:http';
import { createServer as createRawServer, type Server, type Socket } from 'node:net';
import { parseAllowList } from '../../../src/core/http/addresses.ts';
import { createHttpClient, type HttpClientOptions } from '../../../src/core/http/client.ts';
import { createEgressGuard } from '../../../src/core/http/egress.ts';
import type { LoggedCall } from '../../../src/core/http/logged-call.ts';
import { type HttpRequest, type SendOptions } from '../../../src/core/model/http.ts';

/** A server on a free port of 127.0.0.1, closed with its sockets on dispose. */
export interface LocalServer extends AsyncDisposable {
  readonly port: number;
  readonly origin: string;
  /** Connections accepted so far. */
  connections(): number;
}

/** Serves HTTP with `handle`. */
export const serveHttp = (handle: RequestListener): Promise<LocalServer> => listen(createServer(handle));

/** Hands each raw connection to `handle`, for responses that no HTTP server would give. */
export const serveRaw = (handle: (socket: Socket) => void): Promise<LocalServer> => listen(createRawServer(handle));

/** What {@link openClient} can be told; all else has a default that responds at once. */
export type ClientOverrides = Partial<HttpClientOptions> & { readonly allow?: string };

/** A client that may reach every port of 127.0.0.1 given in `allow`, and what it logged and slept. */
export function openClient({ allow = '', ...overrides }: ClientOverrides) {
  const calls: LoggedCall[] = [];
  const sleeps: number[] = [];
  const client = createHttpClient({
    egress: createEgressGuard({ allow: parseAllowList(allow), deny: [], allowHttp: false }),
    takeToken: async () => 0,
    logCall: (call) => {
      calls.push(call);
    },
    secrets: [],
    retry: { maxAttempts: 3, baseMs: 100, maxMs: 1_000, maxWaitSeconds: 3_600 },
    redirects: 'same_origin',
    sleep: async (ms) => {
      sleeps.push(ms);
    },
    ...overrides,
  });
  return {
    calls,
    sleeps,
    addSecret: client.addSecret,
    send: (
      request: Partial<Omit<HttpRequest, 'url'>> & { url: URL | string },
      signal = new AbortController().signal,
      options: Pick<SendOptions, 'signer' | 'onResponse'> = {},
    ) => client.send({ ...requestDefaults, ...request, url: new URL(request.url) }, { signal, ...options }),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

const requestDefaults = {
  method: 'GET',
  headers: {},
  timeoutMs: 5_000,
  responseBytesMax: 10_000_000,
  allowedHosts: [],
} as const;

async function listen(server: Server): Promise<LocalServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return {
    port: address.port,
    origin: `http://127.0.0.1:${address.port}`,
    connections: () => connections,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      await closed.promise;
    },
  };
}

/** Responds with the statuses in turn, with the last one for ever. */
export const serveStatuses = (statuses: readonly number[], headers: Readonly<Record<string, string>> = {}) => {
  let turn = 0;
  return serveHttp((_request, response) => {
    const status = statuses[Math.min(turn, statuses.length - 1)] ?? 200;
    turn += 1;
    response.writeHead(status, status === 200 ? {} : headers).end('{"ok":true}');
  });
};
