/** Orgs whose connections have little new: a page of ten records, which the destination has already. */
import { Pool } from 'undici';
import { createOrg } from '../../src/control/orgs/orgs.ts';
import { type AuditedDestination, openAuditedDestination } from '../../test/support/destinations/audit.ts';
import type { ControlPlane } from './control-plane.ts';

/** The resource of every connection. */
const resourceKey = 'items';
/** Records of the one page. */
export const recordsOfPage = 10;

/** An org with a database of its own, where each of its connections has a table. */
export interface ManyOrg extends AsyncDisposable {
  readonly orgId: string;
  readonly destination: AuditedDestination;
  /** Makes and activates connections that read from this address. */
  connect(count: number, baseUrl: string): Promise<readonly ManyConnection[]>;
}

/** A connection of an org. */
export interface ManyConnection {
  readonly id: string;
  readonly orgId: string;
  /** Asks for a run; its id. */
  request(): Promise<string>;
  /** Makes a schedule; what is returned deletes it. */
  schedule(cron: string): Promise<() => Promise<void>>;
}

/** Makes an org. */
export async function openOrg(plane: ControlPlane): Promise<ManyOrg> {
  await using stack = new AsyncDisposableStack();
  const made = await createOrg(plane, { name: 'Many', plan: 'standard', activeConnectionsMax: null });
  const { id: orgId } = made.org;
  const pool = stack.adopt(new Pool(plane.apiUrl, { connections: 16 }), (open) => open.close());
  const ask = askOver(pool, made.apiKey.key);
  const destination = stack.use(await openAuditedDestination());
  const workspaceId = made.workspaces[0]?.id;
  let tables = 0;
  const connect = async (specKey: string): Promise<ManyConnection> => {
    tables += 1;
    const { id } = await ask('POST', '/connections', {
      ...{ workspaceId, specKey, specVersion: '1.0.0', displayName: specKey, params: {} },
      secrets: { databaseUrl: destination.url },
      specOverridesJson: { resources: [{ key: resourceKey, target: { table: `items_${tables}` } }] },
    });
    await ask('POST', `/connections/${id}/activate`);
    return {
      ...{ id, orgId },
      request: async () => (await ask('POST', `/connections/${id}/sync`, { resource: resourceKey })).id,
      async schedule(cron) {
        const schedule = await ask('POST', `/connections/${id}/schedules`, { resourceKey, cron });
        return async () => void (await ask('DELETE', `/schedules/${schedule.id}`));
      },
    };
  };
  const opened = stack.move();
  let specs = 0;
  return {
    ...{ orgId, destination },
    async connect(count, baseUrl) {
      specs += 1;
      const key = `many-${specs}`;
      await ask('POST', '/specs', documentOf(key, baseUrl));
      await ask('POST', `/specs/${key}/versions/1.0.0/publish`);
      const connections: ManyConnection[] = [];
      for (let n = 0; n < count; n += 1) connections.push(await connect(key));
      return connections;
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Throws on a response that is an error. */
const askOver = (pool: Pool, key: string) => async (method: 'POST' | 'DELETE', path: string, body?: unknown) => {
  const reply = await pool.request({
    ...{ method, path: `/api/v1${path}` },
    headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await reply.body.text();
  if (reply.statusCode >= 400) throw new Error(`${method} ${path}: ${reply.statusCode} ${text}`);
  return JSON.parse(text);
};

const text = { type: 'string' };
const properties = { id: { type: 'integer' }, name: text, email: text, amount: { type: 'number' } };

const documentOf = (key: string, baseUrl: string) => ({
  metadata: { key, name: key, version: '1.0.0' },
  connectionParams: [{ key: 'databaseUrl', type: 'string', secret: true }],
  http: { baseUrl, timeoutMs: 120_000, rateLimit: { requests: 1_000_000, perSeconds: 1, maxConcurrent: 8 } },
  resources: [
    {
      key: resourceKey,
      primaryKey: 'id',
      request: { path: '/cursor', query: { limit: '{{ page.size }}' } },
      response: { records: 'data' },
      pagination: {
        ...{ kind: 'cursor', size: 100, next: 'body.next_cursor' },
        inject: { in: 'query', name: 'cursor' },
      },
      transform: '{ "id": id, "name": $trim(name), "email": email, "amount": amount }',
      validate: { schema: { type: 'object', required: ['id', 'email'], properties } },
    },
  ],
  destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
});
