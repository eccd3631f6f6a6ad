import { once } from 'node:events';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { buildConnector } from 'undici';
import { createEgressGuard, type EgressGuard } from '../../../src/core/http/egress.ts';
import { openGuard } from './script.ts';
import type { Tls } from './tds-wire.ts';

/** A request for a token. */
export interface TokenRequest {
  readonly host: string;
  readonly path: string;
  readonly form: Readonly<Record<string, string>>;
}

/** What Entra ID responds. */
export interface TokenResponse {
  readonly status: number;
  readonly body: object;
}

/** Entra ID on 127.0.0.1, under whatever host it is asked. */
export interface EntraServer extends AsyncDisposable {
  readonly requests: readonly TokenRequest[];
  /** Leads every web address to this server, and every database to 127.0.0.1. */
  readonly guard: EgressGuard;
}

/** Starts it; its certificate is that of db.test. */
export async function startEntraServer(
  tls: Tls,
  respond: (request: TokenRequest, count: number) => TokenResponse,
): Promise<EntraServer> {
  const requests: TokenRequest[] = [];
  const server = createServer(tls, (request, response) => {
    void (async () => {
      const form = Object.fromEntries(new URLSearchParams(await text(request)));
      const asked = { host: request.headers.host ?? '', path: request.url ?? '', form };
      requests.push(asked);
      const { status, body } = respond(asked, requests.length);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const connect = buildConnector({ ca: tls.cert });
  const place = { hostname: '127.0.0.1', port: String(address.port), servername: 'db.test' };
  return {
    requests,
    guard: {
      ...createEgressGuard({ allow: [], deny: [], allowHttp: false }),
      vetHost: openGuard.vetHost,
      connector: () => (target, callback) => connect({ ...target, ...place }, callback),
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
