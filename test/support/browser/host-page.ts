import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

/** What a page of a customer's consists of. */
interface HostPage {
  readonly html: string;
  /** The page's own script, served as `/page.js`. */
  readonly script: string;
  /** Origin of the service: the only other one that the page may load from and ask. */
  readonly serviceOrigin: string;
  /** What the page's server responds to `/embed-token` and `/connect-token`. */
  readonly mintToken: () => Promise<string>;
}

/** A running host of one page. */
export interface PageServer extends AsyncDisposable {
  readonly url: string;
  /** How often a token was asked for. */
  readonly mints: () => number;
}

/** Serves the page under a Content-Security-Policy that allows neither inline scripts nor inline styles. */
export async function servePage({ html, script, serviceOrigin, mintToken }: HostPage): Promise<PageServer> {
  let mints = 0;
  const policy = `default-src 'none'; script-src 'self' ${serviceOrigin}; connect-src 'self' ${serviceOrigin}; frame-src ${serviceOrigin}`;
  const reply = async ({ url = '' }: IncomingMessage, response: ServerResponse) => {
    response.setHeader('content-security-policy', policy);
    if (url === '/embed-token' || url === '/connect-token') {
      mints += 1;
      return response.setHeader('content-type', 'text/plain').end(await mintToken());
    }
    if (url === '/page.js') return response.setHeader('content-type', 'text/javascript').end(script);
    if (!/^\/(?:\?|$)/.test(url)) return response.writeHead(404).end();
    return response.setHeader('content-type', 'text/html; charset=utf-8').end(html);
  };
  const server = createServer((request, response) => {
    reply(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server does not listen on a port.');
  return {
    url: `http://127.0.0.1:${address.port}/`,
    mints: () => mints,
    async [Symbol.asyncDispose]() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  };
}
