import type { RunRow } from '../../src/core/resources/run.ts';
import { type AuditedDestination, openAuditedDestination } from '../../test/support/destinations/audit.ts';
import { eventually } from '../../test/support/service/eventually.ts';
import type { Stack } from '../../test/support/service/stack.ts';
import type { Paging } from '../ceiling/pages.ts';
import { mapping } from './customers.ts';

/** A connection of the service that reads the customers. */
export interface CustomersSync extends AsyncDisposable {
  readonly connectionId: string;
  readonly destination: AuditedDestination;
  /** Asks for a run; its id. */
  request(): Promise<string>;
  /** Resolves with the run once it has succeeded; throws when it ends otherwise. */
  ended(runId: string, everyMs?: number): Promise<RunRow>;
  /** From now on it reads everything each time, as from an API without a filter. */
  readEverything(): Promise<void>;
}

/** How the customers are read. */
export interface CustomersOptions {
  /** Of the API. */
  readonly url: string;
  readonly paging?: Paging;
  /** Which of the mappings; the plain one unless given. */
  readonly transform?: string;
}

/** The resource of the spec, and the table. */
export const customersKey = 'customers';

/** The same into a database of its own, which is dropped with it. */
export async function connectCustomers(stack: Stack, options: CustomersOptions): Promise<CustomersSync> {
  const destination = await openAuditedDestination();
  const connectionId = await createConnection(stack, { ...options, databaseUrl: destination.url });
  const ask = askOf(stack);
  return {
    connectionId,
    destination,
    request: async () => (await ask('POST', `/connections/${connectionId}/sync`, { resource: customersKey })).id,
    async ended(runId, everyMs = 50) {
      const isFinal = async (): Promise<RunRow | false> => {
        const run: RunRow = await ask('GET', `/runs/${runId}`);
        return run.finishedAt !== null && run;
      };
      const run = await eventually(`run ${runId} ends`, isFinal, { timeoutMs: 600_000, everyMs });
      if (run.status !== 'succeeded') throw new Error(`The run is not what is to be measured: ${JSON.stringify(run)}`);
      return run;
    },
    async readEverything() {
      const specOverridesJson = { resources: [{ key: customersKey, request: { query: { updated_since: null } } }] };
      await ask('PATCH', `/connections/${connectionId}`, { specOverridesJson });
    },
    [Symbol.asyncDispose]: () => destination[Symbol.asyncDispose](),
  };
}

/** Publishes the spec unless it is there, then creates and activates a connection of it; its id. */
export async function createConnection(
  stack: Stack,
  { databaseUrl, ...options }: CustomersOptions & { readonly databaseUrl: string },
): Promise<string> {
  const ask = askOf(stack);
  const document = documentOf(options);
  const { key, version } = document.metadata;
  const known = await stack.org.call('GET', `/specs/${key}/versions`);
  if (known.status === 404) {
    await ask('POST', '/specs', document);
    await ask('POST', `/specs/${key}/versions/${version}/publish`);
  }
  const { id } = await ask('POST', '/connections', {
    workspaceId: stack.org.workspaceId,
    specKey: key,
    specVersion: version,
    displayName: key,
    params: {},
    secrets: { databaseUrl },
  });
  await ask('POST', `/connections/${id}/activate`);
  return id;
}

/** Throws on a response that is an error. */
const askOf = (stack: Stack) => async (method: string, path: string, body?: unknown) => {
  const reply = await stack.org.call(method, path, { body });
  if (reply.status >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(reply.body)}`);
  return reply.body;
};

const pagings = {
  cursor: {
    path: '/cursor',
    size: 'limit',
    pagination: { kind: 'cursor', next: 'body.next_cursor', inject: { in: 'query', name: 'cursor' } },
  },
  page: {
    path: '/page',
    size: 'per_page',
    pagination: { kind: 'page', totalPages: 'body.total_pages', inject: { in: 'query', name: 'page' } },
  },
};

const text = { type: 'string' };
const time = { type: 'string', format: 'date-time' };

const properties = {
  id: { type: 'integer' },
  external_id: text,
  name: text,
  email: { type: 'string', pattern: '@' },
  status: text,
  amount: { type: 'number' },
  currency: text,
  tags: { type: 'array', items: text },
  address_line1: text,
  address_city: text,
  address_postal_code: text,
  address_country: text,
  metadata: { type: 'object' },
  description: text,
  created_at: time,
  updated_at: time,
};

function documentOf({ url, paging = 'cursor', transform = mapping }: CustomersOptions) {
  const { path, size, pagination } = pagings[paging];
  const key = `customers-${paging}${transform === mapping ? '' : '-pattern'}`;
  return {
    metadata: { key, name: key, version: '1.0.0' },
    connectionParams: [{ key: 'databaseUrl', type: 'string', secret: true }],
    // The limits of a generous API: what is measured is not to wait for a token. As many at once as the ceiling has.
    http: { baseUrl: url, rateLimit: { requests: 1_000_000, perSeconds: 1, maxConcurrent: 8 }, retry: { baseMs: 100 } },
    resources: [
      {
        key: customersKey,
        primaryKey: 'id',
        request: { path, query: { [size]: '{{ page.size }}', updated_since: '{{ window.from }}' } },
        response: { records: 'data' },
        pagination: { size: 100, maxPages: 100_000, ...pagination },
        incremental: { kind: 'cursor', cursor: { field: 'updated_at', type: 'datetime' }, order: 'asc' },
        transform,
        validate: { schema: { type: 'object', required: ['id', 'external_id', 'email'], properties } },
        target: { table: customersKey },
      },
    ],
    destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
  };
}
