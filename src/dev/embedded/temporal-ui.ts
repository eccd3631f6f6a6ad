import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { isIPv6 } from 'node:net';
import { hasCode } from '../../core/error-code.ts';

interface Place {
  readonly ip: string;
  readonly port: number;
}

/**
 * The dev server's UI has no login and responds to every host name. A page of any site could use it under a name that
 * leads to this machine. Requests under other names, and from pages of other sites, are therefore refused. `null` if
 * the port is taken.
 */
export async function serveTemporalUi(at: Place, ui: Place): Promise<AsyncDisposable | null> {
  const hosts = new Set([at.ip, 'localhost'].map((name) => `${isIPv6(name) ? `[${name}]` : name}:${at.port}`));
  const server = createServer((incoming, outgoing) => {
    const { host = '', origin } = incoming.headers;
    const isOwn = hosts.has(host) && (origin === undefined || hosts.has(origin.replace('http://', '')));
    if (isOwn) handOn(incoming, outgoing, ui);
    else outgoing.writeHead(421, { 'content-type': 'text/plain' }).end(refusal(hosts));
  });
  const listening = Promise.withResolvers<boolean>();
  server.once('error', (error) => (hasCode(error, 'EADDRINUSE') ? listening.resolve(false) : listening.reject(error)));
  server.listen({ port: at.port, host: at.ip, exclusive: true }, () => listening.resolve(true));
  if (!(await listening.promise)) return null;
  server.on('clientError', (_error, socket) => socket.destroy());
  return {
    async [Symbol.asyncDispose]() {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
  };
}

const refusal = (hosts: ReadonlySet<string>): string =>
  `The Temporal UI responds only under its own name, so that no page of another site can use it. Open http://${[...hosts].join(' or http://')}\n`;

function handOn(incoming: IncomingMessage, outgoing: ServerResponse, { ip, port }: Place): void {
  const { method, url: path, headers } = incoming;
  const asked = request({ host: ip, port, method, path, headers }, (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    response.pipe(outgoing);
    response.once('error', () => outgoing.destroy());
  });
  asked.once('error', () => {
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(502, { 'content-type': 'text/plain' }).end('The Temporal dev server does not respond.\n');
  });
  outgoing.once('close', () => asked.destroy());
  incoming.pipe(asked);
}
