import { expect } from 'vitest';
import type { RunRow } from '../../../src/core/resources/run.ts';
import { type AuditedDestination, openAuditedDestination } from '../destinations/audit.ts';
import { eventually } from '../service/eventually.ts';
import type { SharedStack } from '../service/use-stack.ts';

/** A connection whose spec reads one collection of the upstream into PostgreSQL. */
export interface EngineConnection {
  get(): Promise<{ readonly status: string }>;
  post(action: string): Promise<{ readonly status: string }>;
  requestSync(): Promise<{ readonly status: number; readonly body: RunRow }>;
  /** Resolves with the final row of a new run. */
  sync(): Promise<RunRow>;
  /** Rows at the destination. */
  count(): Promise<number>;
}

const token = 'good-token';
let specs = 0;

/** Publishes a spec of its own and makes an active connection. `password`: of the destination, instead of the right one. */
export async function openEngineConnection(
  { stack, upstream }: SharedStack,
  collection: string,
  resource: Record<string, unknown> = {},
  { password }: { readonly password?: string } = {},
): Promise<EngineConnection> {
  const { call, workspaceId } = stack.org;
  const destination = await openAuditedDestination();
  const databaseUrl = new URL(destination.url);
  if (password !== undefined) databaseUrl.password = password;
  specs += 1;
  const key = `engine-${specs}`;
  const ask = async (method: string, path: string, body?: unknown) => {
    const reply = await call(method, path, { body });
    expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(400);
    return reply.body;
  };
  await ask('POST', '/specs', specDocument({ key, url: upstream.url, collection, resource }));
  await ask('POST', `/specs/${key}/versions/1.0.0/publish`);
  const { id } = await ask('POST', '/connections', {
    workspaceId,
    specKey: key,
    specVersion: '1.0.0',
    displayName: key,
    params: {},
    secrets: { token, databaseUrl: databaseUrl.href },
  });
  await ask('POST', `/connections/${id}/activate`);
  const requestSync = () => call('POST', `/connections/${id}/sync`, { body: { resource: collection } });
  return {
    get: () => ask('GET', `/connections/${id}`),
    post: (action) => ask('POST', `/connections/${id}/${action}`),
    requestSync,
    async sync() {
      const { body } = await requestSync();
      return eventually(
        'the run ends',
        async () => {
          const run = await ask('GET', `/runs/${body.id}`);
          return run.finishedAt !== null && run;
        },
        { timeoutMs: 60_000 },
      );
    },
    count: () => countRows(destination, collection),
  };
}

async function countRows(destination: AuditedDestination, table: string): Promise<number> {
  const [row] = await destination.query<{ count: string }>(`select count(*) from ${table}`);
  return Number(row?.count);
}

interface SpecParts {
  readonly key: string;
  readonly url: string;
  readonly collection: string;
  readonly resource: Record<string, unknown>;
}

const specDocument = ({ key, url, collection, resource }: SpecParts) => ({
  metadata: { key, name: key, version: '1.0.0' },
  connectionParams: [
    { key: 'token', type: 'string', secret: true },
    { key: 'databaseUrl', type: 'string', secret: true },
  ],
  auth: { kind: 'bearer', token: '{{ secrets.token }}' },
  http: { baseUrl: url, rateLimit: { requests: 1_000_000, perSeconds: 1 }, retry: { baseMs: 10 } },
  resources: [
    {
      key: collection,
      primaryKey: 'id',
      request: {
        path: `/cursor/${collection}`,
        query: { per_page: '{{ page.size }}', updated_since: '{{ window.from }}' },
      },
      response: { records: 'data' },
      pagination: { kind: 'cursor', next: 'body.next_cursor', size: 100, inject: { in: 'query', name: 'cursor' } },
      incremental: { kind: 'cursor', cursor: { field: 'updated_at', type: 'datetime' }, order: 'asc' },
      ...resource,
    },
  ],
  destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
});
