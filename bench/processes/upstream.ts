/**
 * The API that is read from: customers in the order of their numbers, all of it text before it is asked.
 * `GET /cursor?limit=&cursor=&updated_since=` and `GET /page?page=&per_page=&updated_since=`.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Checksum, type Customer, checksumOf, customerOf } from '../support/customers.ts';
import { runJobs } from '../support/partner.ts';

interface Behavior {
  /** How many customers there are. */
  readonly records: number;
  /** Before each response. */
  readonly latencyMs: number;
  /** Every 100th request gets a 429 with one second to wait, every 150th a 500, every 170th a reset. */
  readonly issues: boolean;
}

let behavior: Behavior = { records: 0, latencyMs: 0, issues: false };
/** Versions of the customers that have changed, by id. */
let versions = new Map<number, number>();
let changes = 0;
let prepared: readonly Prepared[] = [];
let texts = joined(prepared);
/** Of each filter that was asked for: the customers that pass it, oldest change first. */
const filtered = new Map<string, ReturnType<typeof joined>>();
/** Of the customers as they are; null: not asked for yet. */
let checksum: Checksum | null = null;
let report = emptyReport();
const waiting = new Set<{ readonly pages: number; readonly done: () => void }>();

export type UpstreamJobs = typeof jobs;
const jobs = runJobs({
  /** Starts to listen; `host:port`. */
  listen: async (): Promise<string> => {
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  },
  /** Begins anew: no customer has changed, nothing was asked for. */
  begin: (next: Partial<Behavior> & Pick<Behavior, 'records'>): void => {
    const isOther = next.records !== behavior.records || changes > 0;
    behavior = { latencyMs: 0, issues: false, ...next };
    report = emptyReport();
    if (!isOther) return;
    changes = 0;
    versions = new Map();
    prepare();
  },
  /** Changes one customer in a hundred, each time others. */
  change: (): void => {
    changes += 1;
    for (let id = changes % 100 || 100; id <= behavior.records; id += 100) versions.set(id, changes);
    prepare();
    report = emptyReport();
  },
  /** What a table has to hold. */
  checksum: (): Checksum => {
    checksum ??= checksumOf(customers());
    return checksum;
  },
  /** What was asked since the last beginning or change. */
  report: () => ({
    pages: report.pages,
    differentPages: report.served.size,
    arrivals: report.arrivals,
    heldMs: report.heldMs,
  }),
  /** Resolves when so many pages were served. */
  served: (pages: number): Promise<void> => new Promise((done) => void waiting.add({ pages, done })),
});

function emptyReport() {
  return {
    /** Pages that were served, repeats included, and which they were. */
    pages: 0,
    served: new Set<string>(),
    /** Times of the requests, ms since the epoch. */
    arrivals: [] as number[],
    /** How long responses were held back, together. */
    heldMs: 0,
  };
}

function prepare(): void {
  filtered.clear();
  checksum = null;
  prepared = Array.from(customers(), (customer) => ({
    changedMs: Date.parse(customer.updated_at),
    text: Buffer.from(`${JSON.stringify(customer)},`),
  }));
  texts = joined(prepared);
}

function* customers(): Generator<Customer> {
  for (let id = 1; id <= behavior.records; id += 1) yield customerOf(id, versions.get(id) ?? 0);
}

interface Prepared {
  /** Since the epoch. */
  readonly changedMs: number;
  /** With a comma behind it. */
  readonly text: Buffer;
}

/** Records as one piece of text, of which any page is a slice. */
function joined(records: readonly Prepared[]) {
  const bytes = Buffer.concat(records.map(({ text }) => text));
  const ends = [0];
  for (const { text } of records) ends.push((ends.at(-1) ?? 0) + text.length);
  return {
    count: records.length,
    slice: (from: number, to: number): Buffer => bytes.subarray(ends[from], Math.max(0, (ends[to] ?? 0) - 1)),
  };
}

function joinedSince(since: string): ReturnType<typeof joined> {
  const known = filtered.get(since);
  if (known) return known;
  const sinceMs = Date.parse(since);
  const passing = prepared.filter(({ changedMs }) => changedMs >= sinceMs).sort((a, b) => a.changedMs - b.changedMs);
  const made = joined(passing);
  filtered.set(since, made);
  return made;
}

const server = createServer((request, response) => {
  report.arrivals.push(Date.now());
  const nth = report.arrivals.length;
  const reply = (): void => {
    if (!behavior.issues || !sendFault(nth, response)) sendPage(request.url ?? '', response);
  };
  if (behavior.latencyMs === 0) return reply();
  const heldAt = performance.now();
  setTimeout(() => {
    report.heldMs += performance.now() - heldAt;
    reply();
  }, behavior.latencyMs);
});

function sendFault(nth: number, response: ServerResponse): boolean {
  if (nth % 170 === 0) response.socket?.resetAndDestroy();
  else if (nth % 100 === 0) response.writeHead(429, { 'retry-after': '1' }).end();
  else if (nth % 150 === 0) response.writeHead(500).end();
  else return false;
  return true;
}

function sendPage(path: string, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(path, 'http://upstream');
  const isNumbered = pathname === '/page';
  const size = Number(searchParams.get(isNumbered ? 'per_page' : 'limit') ?? 100);
  const since = searchParams.get('updated_since');
  const found = since === null ? texts : joinedSince(since);
  const page = Number(searchParams.get('page') ?? 1);
  const from = isNumbered ? (page - 1) * size : Number(searchParams.get('cursor') ?? 0);
  const to = Math.min(from + size, found.count);
  const more = isNumbered
    ? `"page":${page},"total_pages":${Math.ceil(found.count / size)}`
    : `"next_cursor":${to < found.count ? `"${to}"` : null}`;
  const [head, tail] = ['{"data":[', `],${more}}`];
  const data = from < to ? found.slice(from, to) : Buffer.alloc(0);
  const length = head.length + data.length + tail.length;
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': length });
  // One write to the socket instead of three.
  response.cork();
  response.write(head);
  response.write(data);
  response.end(tail);
  report.pages += 1;
  report.served.add(`${since} ${from}`);
  for (const wish of waiting) {
    if (report.pages < wish.pages) continue;
    waiting.delete(wish);
    wish.done();
  }
}
