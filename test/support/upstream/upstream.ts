/**
 * A fake customer API on loopback: collections of records in every paging form, faults at chosen requests, a journal of
 * what was asked and what came back, and gates that hold a response until the test lets it go. No test needs to sleep.
 *
 * Paths: `/{paging kind}/{collection}` (see {@link pageOf}), `/items/{collection}/{id}`, and `/echo`, whose one record
 * is the request itself. POST works like GET, its JSON body joins the query.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { type FaultIssue, sendFaulty, sendResponse } from './faults.ts';
import { pageOf, pagingKinds, textOf, type UpstreamResponse } from './paging.ts';
import { createRecordStore, type RecordStore, type UpstreamRecord } from './records.ts';

export type { UpstreamResponse } from './paging.ts';
export { generateRecords, type UpstreamRecord } from './records.ts';

/** One request, as it came. Header names are lower case. */
export interface UpstreamRequest {
  /** Position among all requests, from 1. */
  readonly nth: number;
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty without a body. */
  readonly body: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
}

/** A request and its outcome. */
export interface JournalEntry extends UpstreamRequest {
  /** Null: no response yet, or the connection was reset. */
  readonly status: number | null;
  /** Milliseconds since the epoch; null: still held. */
  readonly responseAt: number | null;
}

/** Holds one response back. */
interface Gate {
  /** Resolves when the request has come and its response is held. */
  readonly reached: Promise<void>;
  /** Lets the response go, also when its request comes only later. */
  release(): void;
}

/** What a test decides before the start. */
export interface UpstreamOptions {
  /** Records by collection; absent: an empty collection `records`. */
  readonly collections?: Readonly<Record<string, readonly UpstreamRecord[]>>;
  /** Milliseconds before each response. */
  readonly latencyMs?: number | (() => number);
  /** By the position of the request, from 1, counting retries. */
  readonly issues?: Readonly<Record<number, FaultIssue>>;
  /** Asked first; undefined leaves the request to the built-in paths. */
  readonly reply?: (request: UpstreamRequest) => UpstreamResponse | undefined;
  /** Other values of `Authorization` get 401; absent: none is needed. */
  readonly authorization?: string;
  /** Any that is free unless given. */
  readonly port?: number;
}

/** A running fake API. */
export interface Upstream extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`. */
  readonly url: string;
  /** `127.0.0.1:<port>`, as `EGRESS_ALLOW` takes it. */
  readonly hostPort: string;
  /** Every request so far, in the order of arrival. */
  readonly journal: readonly JournalEntry[];
  /** How often each URL got a 200. */
  timesServed(): ReadonlyMap<string, number>;
  /** Resolves when `count` requests have come since the start. */
  requested(count: number): Promise<void>;
  /** Holds the response to the nth request, from 1, counting retries. */
  hold(nth: number): Gate;
  /** Holds every response from now on. */
  pause(): void;
  /** Ends {@link Upstream.pause}. */
  resume(): void;
  /** Plans a fault for the nth request. */
  failAt(nth: number, issue: FaultIssue): void;
  /** The records of a collection. Throws when there is no such collection. */
  store(collection?: string): RecordStore;
}

/** Starts the fake API. Disposing ends it and every open connection. */
export async function startUpstream(options: UpstreamOptions = {}): Promise<Upstream> {
  const stores = new Map(
    Object.entries(options.collections ?? { records: [] }).map(([name, records]) => [name, createRecordStore(records)]),
  );
  const issues = new Map(Object.entries(options.issues ?? {}).map(([nth, issue]) => [Number(nth), issue]));
  const journal: Mutable<JournalEntry>[] = [];
  const gates = createGates();
  const arrivals = createArrivals();

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const entry: Mutable<JournalEntry> = { ...takeDown(incoming, journal.length + 1), status: null, responseAt: null };
    journal.push(entry);
    entry.body = await text(incoming);
    arrivals.arrived(entry.nth);
    const { latencyMs } = options;
    if (latencyMs !== undefined) await delay(typeof latencyMs === 'number' ? latencyMs : latencyMs());
    await gates.pass(entry.nth);
    const reply = respondTo(entry, { ...options, stores, origin: `http://${incoming.headers.host}` });
    const issue = issues.get(entry.nth);
    entry.status = issue ? await sendFaulty(issue, reply, response) : sendResponse(reply, response);
    entry.responseAt = Date.now();
  };

  const server = createServer((incoming, response) => {
    handle(incoming, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  }).listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}`,
    hostPort: `127.0.0.1:${port}`,
    journal,
    timesServed: () => countUrls(journal),
    requested: arrivals.wait,
    hold: gates.hold,
    pause: gates.pause,
    resume: gates.resume,
    failAt: (nth, issue) => void issues.set(nth, issue),
    store: (collection = 'records') => {
      const store = stores.get(collection);
      if (!store) throw new Error(`the fake API has no collection ${collection}`);
      return store;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      gates.openAll();
      await new Promise((closed) => server.close(closed));
    },
  };
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

const takeDown = (incoming: IncomingMessage, nth: number): UpstreamRequest => ({
  nth,
  method: incoming.method ?? '',
  url: incoming.url ?? '',
  headers: Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)])),
  body: '',
  receivedAt: Date.now(),
});

interface ResponseContext extends UpstreamOptions {
  readonly stores: ReadonlyMap<string, RecordStore>;
  readonly origin: string;
}

function respondTo(request: UpstreamRequest, context: ResponseContext): UpstreamResponse {
  const own = context.reply?.(request);
  if (own) return own;
  const { authorization } = context;
  if (authorization !== undefined && request.headers['authorization'] !== authorization) return rejection(401);
  const url = new URL(request.url, context.origin);
  const [form = '', collection = '', id] = url.pathname.split('/').slice(1).map(decodeURIComponent);
  if (form === 'echo') return echoOf(request);
  const store = context.stores.get(collection);
  if (!store) return rejection(404);
  if (form === 'items') {
    const record = store.find(id ?? '');
    return record ? { body: textOf(record) } : rejection(404);
  }
  const kind = pagingKinds.find((known) => known === form);
  if (kind === undefined) return rejection(404);
  const input = {
    ...Object.fromEntries(url.searchParams),
    ...(request.body.startsWith('{') ? JSON.parse(request.body) : {}),
  };
  return pageOf(kind, { url, input, store });
}

const rejection = (status: number): UpstreamResponse => ({ status, body: `{"error":"made-up ${status}"}` });

/** Everything the request carried, in the body and in a header: what a redacted log must not show. */
function echoOf(request: UpstreamRequest): UpstreamResponse {
  const { method, url, headers, body } = request;
  const record = {
    id: String(request.nth),
    updated_at: new Date(request.receivedAt).toISOString(),
    method,
    url,
    headers,
    body,
  };
  return {
    headers: { 'x-echo-authorization': headers['authorization'] ?? '', 'x-echo-url': url },
    body: JSON.stringify([record]),
  };
}

function countUrls(journal: readonly JournalEntry[]): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  for (const { url, status } of journal) if (status === 200) times.set(url, (times.get(url) ?? 0) + 1);
  return times;
}

/** Gates by request, and one for all. */
function createGates() {
  const held = new Map<number, { reached: () => void; released: Promise<void> }>();
  const releases = new Set<() => void>();
  let paused: PromiseWithResolvers<void> | undefined;
  const resume = (): void => {
    paused?.resolve();
    paused = undefined;
  };
  return {
    hold: (nth: number): Gate => {
      const reached = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      held.set(nth, { reached: reached.resolve, released: released.promise });
      releases.add(released.resolve);
      return { reached: reached.promise, release: released.resolve };
    },
    pass: async (nth: number): Promise<void> => {
      await paused?.promise;
      const gate = held.get(nth);
      gate?.reached();
      await gate?.released;
    },
    pause: (): void => {
      paused ??= Promise.withResolvers<void>();
    },
    resume,
    openAll: (): void => {
      resume();
      for (const release of releases) release();
    },
  };
}

/** Lets tests wait for the nth request. */
function createArrivals() {
  const waiting = new Map<number, PromiseWithResolvers<void>>();
  const at = (nth: number): PromiseWithResolvers<void> => {
    const known = waiting.get(nth) ?? Promise.withResolvers<void>();
    waiting.set(nth, known);
    return known;
  };
  return { arrived: (nth: number): void => at(nth).resolve(), wait: (nth: number): Promise<void> => at(nth).promise };
}
