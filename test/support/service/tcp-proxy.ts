import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';

/** A TCP proxy on a free port of 127.0.0.1 in front of a server; its connections end with it. */
export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /**
   * From now on the next response of the server is swallowed and its connection cut; with a mark the next one after a
   * request that holds these bytes.
   */
  cutNextResponse(mark?: Buffer | null): void;
}

interface ProxyOptions {
  /** Of the server; 127.0.0.1 unless given. */
  readonly host?: string;
  /** Offers PostgreSQL's encryption with this certificate; plain to the server behind. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Changes what the server sends. */
  readonly tamper?: (chunk: Buffer) => Buffer;
  /** Where it listens; a free port unless given. */
  readonly listenAt?: number;
}

/** Forwards every connection to `port` of the server. */
export async function startTcpProxy(
  port: number,
  { host = '127.0.0.1', tls, tamper = (chunk) => chunk, listenAt = 0 }: ProxyOptions = {},
): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let cut = false;
  let awaited: Buffer | null = null;

  const forward = (client: Socket) => {
    const server = connect(port, host);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
    client.on('data', (chunk) => {
      if (awaited !== null && chunk.includes(awaited)) cut = true;
    });
    client.pipe(server);
    server.on('data', (chunk) => (cut ? client.destroy() : client.write(tamper(chunk))));
  };
  const listener = createServer((raw) => {
    sockets.add(raw);
    raw.on('error', () => raw.destroy());
    if (!tls) return forward(raw);
    // SSLRequest: 8 bytes, the response is one letter.
    raw.once('data', () => {
      raw.write('S');
      forward(new TLSSocket(raw, { isServer: true, secureContext: createSecureContext(tls) }));
    });
  });
  listener.listen(listenAt, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('no port');

  return {
    port: address.port,
    cutNextResponse: (mark = null) => {
      awaited = mark;
      cut = mark === null;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
}
