import type { RunRow } from '../../../src/core/resources/run.ts';
import { eventually } from '../service/eventually.ts';
import type { Service } from '../service/stack.ts';
import type { Upstream } from '../upstream/upstream.ts';

/** What a test decides about one resource, which reads the collection of its name. */
export interface TableSyncOptions {
  readonly collection: string;
  /** A key of the spec where a collection is read by more than one. */
  readonly specKey?: string;
  readonly target?: Readonly<Record<string, unknown>>;
  /** Id, name, amount and time unless given. */
  readonly transform?: string;
  readonly perPage?: number;
  /** More of the resource. */
  readonly resource?: Readonly<Record<string, unknown>>;
  /** Absent: the default one of the deployment. */
  readonly destination?: Readonly<Record<string, unknown>>;
}

/** A connection of an org into a table. */
export interface TableSync {
  readonly connectionId: string;
  /** Requests a run; the response. */
  request(): ReturnType<Service['org']['call']>;
  ended(runId: string): Promise<RunRow>;
  /** Requests a run and resolves with its final row. */
  sync(): Promise<RunRow>;
}

const fourFields = "{ 'id': id, 'name': name, 'amount': amount, 'updated_at': updated_at }";

/** The spec of a connection, whose resource reads everything at each run. */
export const tableSpec = (
  upstream: Pick<Upstream, 'url'>,
  { collection, specKey = collection, perPage = 100, transform = fourFields, ...given }: TableSyncOptions,
  version = '1.0.0',
) => ({
  metadata: { key: specKey, name: specKey, version },
  http: { baseUrl: upstream.url, rateLimit: { requests: 1_000_000, perSeconds: 1 }, timeoutMs: 120_000 },
  resources: [
    {
      key: collection,
      primaryKey: 'id',
      request: { path: `/cursor/${collection}`, query: { per_page: '{{ page.size }}' } },
      response: { records: 'data' },
      pagination: {
        size: perPage,
        kind: 'cursor',
        next: 'body.next_cursor',
        inject: { in: 'query', name: 'cursor' },
      },
      transform,
      target: { table: collection, ...given.target },
      ...given.resource,
    },
  ],
  ...(given.destination && { destination: given.destination }),
});

/** Publishes a spec in an org and activates a connection of it. */
export async function connectTable(
  { call, workspaceId }: Service['org'],
  upstream: Pick<Upstream, 'url'>,
  options: TableSyncOptions,
): Promise<TableSync> {
  const ask = async (path: string, body?: unknown) => {
    const reply = await call('POST', path, { body });
    if (reply.status >= 400) throw new Error(`${path}: ${JSON.stringify(reply.body)}`);
    return reply.body;
  };
  const spec = tableSpec(upstream, options);
  const { key, version } = spec.metadata;
  await call('POST', '/specs', { body: spec });
  await call('POST', `/specs/${key}/versions/${version}/publish`);
  const values = { displayName: key, params: {}, secrets: {} };
  const { id } = await ask('/connections', { workspaceId, specKey: key, specVersion: version, ...values });
  await ask(`/connections/${id}/activate`);
  const request = () => call('POST', `/connections/${id}/sync`, { body: { resource: options.collection } });
  const ended = (runId: string) =>
    eventually(
      `run ${runId} ends`,
      async () => {
        const { body } = await call('GET', `/runs/${runId}`);
        return body.finishedAt !== null && body;
      },
      { timeoutMs: 60_000 },
    );
  return {
    connectionId: id,
    request,
    ended,
    sync: async () => {
      const { status, body } = await request();
      if (status !== 202) throw new Error(`No run: ${JSON.stringify(body)}`);
      return await ended(body.id);
    },
  };
}
