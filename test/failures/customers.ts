import type { AuditedDestination } from '../support/destinations/audit.ts';
import type { Receiver } from '../support/destinations/webhook-receiver.ts';
import type { Stack } from '../support/service/stack.ts';
import { connectCustomer } from '../support/sync/customer.ts';
import { generateRecords, startUpstream, type Upstream, type UpstreamRecord } from '../support/upstream/upstream.ts';
import { type Lookout, orError, type Subject } from './lookout.ts';

/** A customer's API, and what it does wrong now. */
export interface CustomerApi {
  readonly upstream: Upstream;
  readonly faults: { refuses: boolean; latencyMs: number };
}

/** A connection of every minute. */
export interface Customer extends Subject, CustomerApi {
  readonly id: string;
  /** Not used by a webhook. */
  readonly destination: AuditedDestination;
  /** Adds or replaces records at the API, each of which has to be delivered once. */
  put(...records: readonly UpstreamRecord[]): void;
}

/** Key of the resource, and name of the collection and of the table. */
export const contacts = 'contacts';

/** Of every webhook. */
export const signingSecret = `whsec_${Buffer.from('the secret of a receiver').toString('base64')}`;

/** Starts one with so many contacts. */
export async function startApi(count: number): Promise<CustomerApi> {
  const faults = { refuses: false, latencyMs: 0 };
  const upstream = await startUpstream({
    collections: { [contacts]: generateRecords(count) },
    latencyMs: () => faults.latencyMs,
    reply: () => (faults.refuses ? { status: 401, body: '{"error":"the token is revoked"}' } : undefined),
  });
  return { upstream, faults };
}

interface CustomerParts extends CustomerApi {
  readonly name: string;
  readonly lookout: Lookout;
  /** Absent: records go into a database. */
  readonly receiver?: Receiver;
}

/** Connects it, has its first run, and makes its schedule. */
export async function addCustomer(stack: Stack, parts: CustomerParts): Promise<Customer & AsyncDisposable> {
  const { name, upstream, faults, lookout, receiver } = parts;
  const { connectionId: id, ...customer } = await connectCustomer(stack, {
    document: specDocument(name, receiver),
    keepsDestination: receiver !== undefined,
    params: { apiUrl: upstream.url },
    secrets: { token: 'good-token', signingSecret },
  });
  const { destination } = customer;
  await customer.sync(contacts);
  if (!receiver) await destination.audit(contacts);
  const schedule = { resourceKey: contacts, cron: '* * * * *' };
  await stack.org.call('POST', `/connections/${id}/schedules`, { body: schedule });
  const rows = async (): Promise<readonly Readonly<Record<string, unknown>>[]> =>
    receiver
      ? receiver.rows(contacts).map(({ data }) => data)
      : await destination.query(`select id, name, email from ${contacts}`);
  const writes = async (): Promise<number> => {
    if (receiver) return receiver.posts.reduce((sum, { batch }) => sum + batch.records.length, 0);
    const { inserts, updates } = await destination.writes();
    return inserts + updates;
  };
  const writesBefore = await writes();
  let versions = 0;
  const lost = async (): Promise<number> => {
    const arrived = new Set((await rows()).map(textOf));
    return upstream
      .store(contacts)
      .list()
      .filter((record) => !arrived.has(textOf(record))).length;
  };
  const health = async (): Promise<string> => (await lookout.api(`/connections/${id}/freshness`)).freshness.health;
  const error = () => orError(async () => (await lookout.api(`/connections/${id}`)).error?.code ?? null);
  return {
    ...{ id, upstream, faults, destination, lost },
    put(...records) {
      upstream.store(contacts).put(...records);
      versions += records.length;
    },
    signs: async (since) => ({
      event: lookout.event(id, since),
      health: await orError(async () => /failing|degraded/.exec(await health())?.[0] ?? null),
      error: await error(),
      console: await lookout.console(id),
    }),
    async trouble() {
      const state = { health: await health(), error: await error(), lost: await lost() };
      const isWell = state.health === 'healthy' && state.error === null && state.lost === 0;
      return isWell ? null : `${name}: ${JSON.stringify(state)}`;
    },
    doubled: async () => Math.max(0, (await writes()) - writesBefore - versions),
    [Symbol.asyncDispose]: () => customer[Symbol.asyncDispose](),
  };
}

const textOf = ({ id, name, email }: Readonly<Record<string, unknown>>): string => JSON.stringify([id, name, email]);

const specDocument = (key: string, receiver?: Receiver) => ({
  metadata: { key, name: key, version: '1.0.0' },
  connectionParams: [
    { key: 'apiUrl', type: 'url' },
    { key: 'token', type: 'string', secret: true },
    { key: 'signingSecret', type: 'string', secret: true },
  ],
  auth: { kind: 'bearer', token: '{{ secrets.token }}' },
  http: { baseUrl: '{{ params.apiUrl }}' },
  resources: [
    {
      key: contacts,
      primaryKey: 'id',
      request: {
        path: `/cursor/${contacts}`,
        query: { per_page: '{{ page.size }}', updated_since: '{{ window.from }}' },
      },
      response: { records: 'data' },
      pagination: { kind: 'cursor', next: 'body.next_cursor', size: 100, inject: { in: 'query', name: 'cursor' } },
      incremental: { kind: 'cursor', cursor: { field: 'updated_at', type: 'datetime' }, order: 'asc' },
      transform: "{ 'id': id, 'name': name, 'email': email }",
      validate: { schema: { type: 'object', properties: { email: { type: 'string', format: 'email' } } } },
      onInvalid: 'quarantine',
      target: { table: contacts },
    },
  ],
  destination: receiver && { kind: 'webhook', url: receiver.url, signingSecret: '{{ secrets.signingSecret }}' },
});
