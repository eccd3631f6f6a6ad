import { createServer, type ServerResponse } from 'node:http';
import { listening, type Place } from './listening.ts';
import type { Log } from './log.ts';

export interface OperatorPage {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

export interface OperatorPortOptions extends Place {
  readonly log: Log;
  /** The port has no credential, so anyone may request pages at any rate: each page bounds its own cost. */
  readonly pages: Readonly<Record<string, () => Promise<OperatorPage>>>;
}

const headersTimeout = 5000;
/** The most open sockets; an orchestrator and a scraper need a few. */
const connectionsMax = 100;

/**
 * For operators, without a credential: 404 except for a GET of a page, 500 and a log line if the page fails. Disposing closes
 * the port; if it is taken, rejects and names it.
 */
export async function serveOperators({ pages, log, ...place }: OperatorPortOptions): Promise<AsyncDisposable> {
  const byPath = new Map(Object.entries(pages));
  const server = createServer({ headersTimeout, requestTimeout: headersTimeout }, ({ method, url }, response) => {
    const path = url?.split('?')[0] ?? '';
    const page = method === 'GET' ? byPath.get(path) : undefined;
    const made = page?.() ?? Promise.resolve(notFound);
    const failedWith = (error: unknown): OperatorPage => {
      log.error('request failed', { path, error });
      return failed;
    };
    void made.catch(failedWith).then((one) => respond(response, one));
  });
  server.maxConnections = connectionsMax;
  await listening(server, place);
  return {
    async [Symbol.asyncDispose]() {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
  };
}

export const jsonPage = (status: number, value: unknown): OperatorPage => ({
  status,
  type: 'application/json',
  body: JSON.stringify(value),
});

const notFound = jsonPage(404, { status: 'not_found' });
const failed = jsonPage(500, { status: 'failed' });

/** One request per connection: a client that keeps one open would occupy a socket without use. */
function respond(response: ServerResponse, { status, type, body }: OperatorPage): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store', connection: 'close' });
  response.end(body);
}
