import type { JsonObject } from '../../../src/core/json/json-object.ts';
import type { RunRow } from '../../../src/core/resources/run.ts';
import { type AuditedDestination, openAuditedDestination } from '../destinations/audit.ts';
import { eventually } from '../service/eventually.ts';
import type { Service } from '../service/stack.ts';
import type { Upstream } from '../upstream/upstream.ts';

/** A connection that reads one resource of the fake API into a table of its own. */
export interface Connected {
  readonly id: string;
  readonly destination: AuditedDestination;
  /** Requests a run; its id. */
  request(): Promise<string>;
  /** Resolves with the final row. */
  ended(runId: string): Promise<RunRow>;
  /** Requests a run and resolves with its final row. */
  sync(): Promise<RunRow>;
  /** Requests a backfill and resolves with its final row. */
  backfill(options: JsonObject): Promise<RunRow>;
  /** What is at the destination, by id, without the columns of our own. */
  rows(): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Changes the connection's overrides of the spec for its resource. */
  override(resource: JsonObject): Promise<void>;
}

/** What a test decides; the rest of the spec has no limits and short waits. */
export interface ConnectOptions {
  readonly upstream: Upstream;
  /** The resource's key, the first segment of its path and its table. */
  readonly name: string;
  readonly resource: JsonObject;
  readonly http?: JsonObject;
  readonly auth?: JsonObject;
  /** Of the spec; made of `name` unless given. Connections of one spec give the same parts. */
  readonly specKey?: string;
}

const token = 'good-token';

/** Publishes the spec unless it is there, then creates and activates a connection of it. */
export async function connect(stack: Service, options: ConnectOptions): Promise<Connected> {
  const { name, specKey = name.replaceAll('_', '-') } = options;
  const destination = await openAuditedDestination();
  const ask = async (method: string, path: string, body?: unknown) => {
    const reply = await stack.org.call(method, path, { body });
    if (reply.status >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(reply.body)}`);
    return reply.body;
  };
  const known = await stack.org.call('GET', `/specs/${specKey}/versions`);
  if (known.status === 404) {
    await ask('POST', '/specs', specDocument(specKey, options));
    await ask('POST', `/specs/${specKey}/versions/1.0.0/publish`);
  }
  const { id } = await ask('POST', '/connections', {
    workspaceId: stack.org.workspaceId,
    specKey,
    specVersion: '1.0.0',
    displayName: name,
    params: {},
    secrets: { token, databaseUrl: destination.url },
  });
  await ask('POST', `/connections/${id}/activate`);
  const request = async (): Promise<string> => (await ask('POST', `/connections/${id}/sync`, { resource: name })).id;
  const ended = (runId: string): Promise<RunRow> =>
    eventually(`run ${runId} of ${name} ends`, async () => {
      const run = await ask('GET', `/runs/${runId}`);
      return run.finishedAt !== null && run;
    });
  return {
    id,
    destination,
    request,
    ended,
    sync: async () => await ended(await request()),
    backfill: async (body) =>
      await ended((await ask('POST', `/connections/${id}/backfill`, { resource: name, ...body })).id),
    async rows() {
      const rows = await destination.query<Record<string, unknown>>(`select * from ${name} order by _external_id`);
      return rows.map((row) => Object.fromEntries(Object.entries(row).filter(([column]) => !column.startsWith('_'))));
    },
    async override(resource) {
      await ask('PATCH', `/connections/${id}`, { specOverridesJson: { resources: [{ key: name, ...resource }] } });
    },
  };
}

const specDocument = (key: string, { upstream, name, resource, http, auth }: ConnectOptions) => ({
  metadata: { key, name: key, version: '1.0.0' },
  connectionParams: ['token', 'databaseUrl'].map((param) => ({ key: param, type: 'string', secret: true })),
  auth: auth ?? { kind: 'bearer', token: '{{ secrets.token }}' },
  http: {
    baseUrl: upstream.url,
    rateLimit: { requests: 1_000_000, perSeconds: 1 },
    retry: { baseMs: 10 },
    ...http,
  },
  resources: [{ key: name, primaryKey: 'id', request: { path: `/${name}` }, target: { table: name }, ...resource }],
  destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
});
