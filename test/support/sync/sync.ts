import type { RunRow } from '../../../src/core/resources/run.ts';
import { type AuditedDestination, type CountedDestination, openAuditedDestination } from '../destinations/audit.ts';
import { eventually } from '../service/eventually.ts';
import type { Service } from '../service/stack.ts';
import type { Upstream } from '../upstream/upstream.ts';

/** A customer's connection from one collection of the fake API into a database. */
export interface Sync<Destination extends CountedDestination = AuditedDestination> extends AsyncDisposable {
  readonly connectionId: string;
  readonly destination: Destination;
  /** Pages of the collection. */
  readonly pages: number;
  /** Requests a sync; the id of the run. */
  request(): Promise<string>;
  /**
   * Requests the first sync and resolves when its first page was asked for and has no response: the destination's table
   * is there, empty and under audit. `upstream.resume()` lets the run go.
   */
  requestPaused(): Promise<string>;
  run(runId: string): Promise<RunRow>;
  /** Resolves when the run is final. */
  ended(runId: string, timeoutMs?: number): Promise<RunRow>;
  /** Pages requested so far, repeats included. */
  fetches(): number;
  /** Pages that were requested and are not at the destination. Call it when nothing runs any more. */
  pagesInFlight(): Promise<number>;
  /** Pages that the control database has as complete. */
  recordedPages(runId: string): Promise<number>;
}

/** What a test decides. */
export interface SyncOptions {
  readonly upstream: Upstream;
  /** Name of the collection, also key of the resource and name of the table: lower case, digits, `_`. */
  readonly collection: string;
  /** Records per page; 100 unless given. */
  readonly perPage?: number;
  /** How the API gives its pages; `cursor` unless given. */
  readonly paging?: 'cursor' | 'page';
  readonly rateLimit?: { readonly requests: number; readonly perSeconds: number; readonly maxConcurrent?: number };
  /** Of each record; five of its fields unless given. */
  readonly transform?: string;
}

/** Far above what one machine can send: a test is not paced. */
const unlimited = { requests: 1_000_000, perSeconds: 1 };
/** A request that a test holds is not sent a second time while the test does what it holds it for, on any machine. */
const requestTimeoutMs = 120_000;

/** A sync into a PostgreSQL database of its own. */
export const createSync = async (stack: Service, options: SyncOptions): Promise<Sync> =>
  createSyncInto(stack, await openAuditedDestination(), options);

/** Drafts and publishes a spec, creates and activates a connection of it, all through the API. */
export async function createSyncInto<Destination extends CountedDestination>(
  stack: Service,
  destination: Destination,
  options: SyncOptions,
): Promise<Sync<Destination>> {
  const { upstream, collection, perPage = 100, paging = 'cursor' } = options;
  const { call } = stack.org;
  const connectionId = await createConnection(stack, destination, options);
  const path = `/${paging}/${collection}?`;
  const requests = () => upstream.journal.filter(({ url }) => url.startsWith(path));
  const run = async (runId: string): Promise<RunRow> => (await call('GET', `/runs/${runId}`)).body;
  const request = async () => {
    const { status, body } = await call('POST', `/connections/${connectionId}/sync`, {
      body: { resource: collection },
    });
    if (status !== 202) throw new Error(`No run: ${JSON.stringify(body)}`);
    return body.id;
  };
  return {
    connectionId,
    destination,
    pages: Math.ceil(upstream.store(collection).list().length / perPage),
    request,
    run,
    async requestPaused() {
      upstream.pause();
      const asked = upstream.requested(upstream.journal.length + 1);
      const runId = await request();
      await asked;
      await destination.audit(collection);
      return runId;
    },
    ended: (runId, timeoutMs = 60_000) =>
      eventually(
        `run ${runId} ends`,
        async () => {
          const row = await run(runId);
          return row.finishedAt !== null && row;
        },
        { timeoutMs },
      ),
    fetches: () => requests().length,
    async pagesInFlight() {
      await destination.quiet();
      const asked = Math.max(0, ...requests().map(({ url }) => pageOf(url, perPage)));
      return asked - Math.ceil((await destination.count(collection)) / perPage);
    },
    async recordedPages(runId) {
      const recorded = stack.db.selectFrom('runs').select('pageNo').where('id', '=', runId);
      return (await recorded.executeTakeFirstOrThrow()).pageNo;
    },
    [Symbol.asyncDispose]: () => destination[Symbol.asyncDispose](),
  };
}

/** Which page of its collection a URL asks for, from 1: it has its number, or a cursor that is the offset in base64. */
export function pageOf(url: string, perPage: number): number {
  const { searchParams } = new URL(url, 'http://upstream');
  const cursor = searchParams.get('cursor');
  if (searchParams.has('page')) return Number(searchParams.get('page'));
  return 1 + (cursor === null ? 0 : Number(atob(cursor)) / perPage);
}

async function createConnection(
  { org }: Service,
  { declared, secret }: CountedDestination,
  options: SyncOptions,
): Promise<string> {
  const document = { ...specDocument(options), destination: declared };
  const { key, version } = document.metadata;
  const ask = async (path: string, body?: unknown): Promise<{ readonly id: string }> => {
    const reply = await org.call('POST', path, body === undefined ? {} : { body });
    if (reply.status >= 400) throw new Error(`${path}: ${JSON.stringify(reply.body)}`);
    return reply.body;
  };
  await ask('/specs', document);
  await ask(`/specs/${key}/versions/${version}/publish`);
  const { id } = await ask('/connections', {
    workspaceId: org.workspaceId,
    specKey: key,
    specVersion: version,
    displayName: options.collection,
    params: { apiUrl: options.upstream.url },
    secrets: { destination: secret },
  });
  await ask(`/connections/${id}/activate`);
  return id;
}

const fiveFields = "{ 'id': id, 'name': name, 'email': email, 'amount': amount, 'updated_at': updated_at }";

const pagings = {
  cursor: { kind: 'cursor', next: 'body.next_cursor', inject: { in: 'query', name: 'cursor' } },
  page: { kind: 'page', stable: true, totalPages: 'body.total_pages', inject: { in: 'query', name: 'page' } },
};

const specDocument = ({
  collection,
  perPage = 100,
  paging = 'cursor',
  rateLimit = unlimited,
  transform = fiveFields,
}: SyncOptions) => ({
  metadata: { key: collection.replaceAll('_', '-'), name: collection, version: '1.0.0' },
  connectionParams: [
    { key: 'apiUrl', type: 'url' },
    { key: 'destination', type: 'string', secret: true },
  ],
  http: { baseUrl: '{{ params.apiUrl }}', timeoutMs: requestTimeoutMs, rateLimit },
  resources: [
    {
      key: collection,
      primaryKey: 'id',
      request: {
        path: `/${paging}/${collection}`,
        query: { per_page: '{{ page.size }}', updated_since: '{{ window.from }}' },
      },
      response: { records: 'data' },
      pagination: { size: perPage, ...pagings[paging] },
      incremental: { kind: 'cursor', cursor: { field: 'updated_at', type: 'datetime' }, order: 'asc' },
      transform,
      target: { table: collection },
    },
  ],
});
