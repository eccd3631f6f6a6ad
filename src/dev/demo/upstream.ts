/** The API that the demo syncs from: real records over HTTP on loopback, with the manners of real APIs. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { attribution } from './cities.ts';
import type { CityFeed } from './city-feed.ts';

interface UpstreamJournal {
  /** Only of pages, by status. */
  readonly responses: Readonly<Record<string, number>>;
  /** Complete responses, by path and query. */
  readonly pages: Readonly<Record<string, number>>;
}

export interface DemoUpstream extends AsyncDisposable {
  readonly url: string;
  /** `127.0.0.1:<port>`, as `EGRESS_ALLOW` takes it. */
  readonly hostPort: string;
  readonly token: string;
  journal(): UpstreamJournal;
}

export interface DemoUpstreamOptions {
  /** Called at the first request that needs it. */
  readonly feed: () => CityFeed;
  readonly token: string;
  /** 0: a free one. */
  readonly port?: number;
}

/** `resetAfter`: seconds, if the response says them. */
interface DemoFault {
  readonly status: number;
  readonly resetAfter?: string;
}

/** By request for a page, counted from 1 since the start; each occurs once. */
export const faultyRequests: ReadonlyMap<number, DemoFault> = new Map([
  [20, { status: 429, resetAfter: '0.25' }],
  [60, { status: 503 }],
]);

const perPageDefault = 100;
const perPageMax = 1_000;

/**
 * Starts the API on 127.0.0.1:
 * - `GET /cities?per_page&updated_since&page`: by `updated_at`, oldest first, from `updated_since` on (inclusive).
 *   `Link` names the next page (RFC 8288). Needs the bearer token.
 * - `POST /control/touch {count}`: changes records; `GET /control/journal`: its responses so far; `GET /`: describes it.
 */
export async function startDemoUpstream(options: DemoUpstreamOptions): Promise<DemoUpstream> {
  const journal: Journal = { responses: {}, pages: {}, requests: 0 };
  const server = createServer((request, response) => {
    void respond(response, () => responseTo(request, options, journal));
  }).listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    hostPort: `127.0.0.1:${port}`,
    token: options.token,
    journal: () => ({ responses: { ...journal.responses }, pages: { ...journal.pages } }),
    [Symbol.asyncDispose]: () => stop(server),
  };
}

interface Journal {
  readonly responses: Record<string, number>;
  readonly pages: Record<string, number>;
  requests: number;
}

interface DemoResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

async function respond(response: ServerResponse, makeResponse: () => Promise<DemoResponse>): Promise<void> {
  try {
    const { status, headers = {}, body } = await makeResponse();
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length, ...headers });
    response.end(body);
  } catch (error) {
    // The body is not JSON, or the caller has hung up.
    response.writeHead(400).end(error instanceof Error ? error.message : '');
  }
}

async function responseTo(
  request: IncomingMessage,
  options: DemoUpstreamOptions,
  journal: Journal,
): Promise<DemoResponse> {
  const url = new URL(request.url ?? '/', `http://${request.headers.host ?? '127.0.0.1'}`);
  switch (`${request.method} ${url.pathname}`) {
    case 'GET /cities': {
      const page = pageResponse(request, url, { ...options, journal });
      journal.responses[page.status] = (journal.responses[page.status] ?? 0) + 1;
      return page;
    }
    case 'POST /control/touch':
      return jsonResponse(200, { touched: options.feed().touch(countOf(await json(request)), new Date()) });
    case 'GET /control/journal':
      return jsonResponse(200, { responses: journal.responses, pages: journal.pages });
    case 'GET /':
      return jsonResponse(200, {
        data: attribution,
        records: options.feed().count,
        paths: ['/cities', '/control/touch', '/control/journal'],
      });
    default:
      return jsonResponse(404, { error: 'not found' });
  }
}

interface PageContext extends DemoUpstreamOptions {
  readonly journal: Journal;
}

function pageResponse(request: IncomingMessage, url: URL, { feed, token, journal }: PageContext): DemoResponse {
  if (request.headers.authorization !== `Bearer ${token}`)
    return jsonResponse(401, { error: 'the bearer token is missing or wrong' });
  journal.requests += 1;
  const fault = faultyRequests.get(journal.requests);
  if (fault) return faultResponse(fault);
  const perPage = wholeNumber(url.searchParams.get('per_page'), perPageDefault);
  const page = wholeNumber(url.searchParams.get('page'), 1);
  const since = Date.parse(url.searchParams.get('updated_since') ?? '1970-01-01');
  if (perPage === null || perPage > perPageMax || page === null || Number.isNaN(since))
    return jsonResponse(400, {
      error: `expected per_page from 1 to ${perPageMax}, page from 1, updated_since in ISO 8601`,
    });
  const { body, more } = feed().page(since, page, perPage);
  journal.pages[`${url.pathname}${url.search}`] = (journal.pages[`${url.pathname}${url.search}`] ?? 0) + 1;
  if (!more) return { status: 200, body };
  const next = new URL(url);
  next.searchParams.set('page', String(page + 1));
  return { status: 200, headers: { link: `<${next.href}>; rel="next"` }, body };
}

const faultResponse = ({ status, resetAfter }: DemoFault): DemoResponse => ({
  ...jsonResponse(status, { error: 'simulated error, to show a retry' }),
  headers: resetAfter === undefined ? {} : { 'x-ratelimit-reset-after': resetAfter },
});

const jsonResponse = (status: number, value: unknown): DemoResponse => ({
  status,
  body: Buffer.from(JSON.stringify(value)),
});

/** A whole number from 1, `absent` without text, or `null` for any other text. */
function wholeNumber(text: string | null, absent: number): number | null {
  if (text === null) return absent;
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : null;
}

const countOf = (body: unknown): number =>
  typeof body === 'object' && body !== null && 'count' in body && Number.isSafeInteger(body.count)
    ? Math.max(0, Number(body.count))
    : 1;

async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
}
