import type { CallLogRow, RunRow } from '../../../src/core/resources/run.ts';
import { type AuditedDestination, openAuditedDestination } from '../destinations/audit.ts';
import { eventually } from '../service/eventually.ts';
import type { Service } from '../service/stack.ts';

/** A customer's connection of any spec, into a PostgreSQL database of its own. */
export interface Customer extends AsyncDisposable {
  readonly connectionId: string;
  readonly destination: AuditedDestination;
  /** Asks for a sync of one resource and waits for its end. */
  sync(resource: string): Promise<RunRow>;
  calls(runId: string): Promise<readonly CallLogRow[]>;
}

/** What a test decides. */
export interface CustomerOptions {
  /** The spec; its destination is replaced by the customer's database unless `keepsDestination`. */
  readonly document: Readonly<Record<string, unknown>>;
  readonly keepsDestination?: boolean;
  /** Further options of that database. */
  readonly destinationOptions?: Readonly<Record<string, unknown>>;
  readonly params: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, unknown>>;
  readonly overrides?: Readonly<Record<string, unknown>>;
  /** False: the connection becomes active in another way. */
  readonly activate?: boolean;
}

/** Drafts and publishes the spec, creates and activates a connection of it, all through the API. */
export async function connectCustomer({ org }: Service, options: CustomerOptions): Promise<Customer> {
  const {
    document,
    keepsDestination = false,
    destinationOptions,
    params,
    secrets,
    overrides,
    activate = true,
  } = options;
  const destination = await openAuditedDestination();
  const ask = async (path: string, body?: unknown) => {
    const reply = await org.call('POST', path, body === undefined ? {} : { body });
    if (reply.status >= 400) throw new Error(`${path}: ${JSON.stringify(reply.body)}`);
    return reply.body;
  };
  const { key, version } = versionOf(document);
  await ask('/specs', keepsDestination ? document : intoDatabase(document, destinationOptions));
  await ask(`/specs/${key}/versions/${version}/publish`);
  const { id: connectionId } = await ask('/connections', {
    workspaceId: org.workspaceId,
    specKey: key,
    specVersion: version,
    displayName: key,
    params,
    secrets: keepsDestination ? secrets : { ...secrets, testDatabase: destination.url },
  });
  if (overrides) {
    const { status, body } = await org.call('PATCH', `/connections/${connectionId}`, {
      body: { specOverridesJson: overrides },
    });
    if (status !== 200) throw new Error(`overrides: ${JSON.stringify(body)}`);
  }
  if (activate) await ask(`/connections/${connectionId}/activate`);
  return {
    connectionId,
    destination,
    async sync(resource) {
      const { id } = await ask(`/connections/${connectionId}/sync`, { resource });
      return await eventually(
        `run ${id} ends`,
        async () => {
          const { body } = await org.call('GET', `/runs/${id}`);
          return body.finishedAt !== null && body;
        },
        { timeoutMs: 120_000 },
      );
    },
    calls: async (runId) => (await org.call('GET', `/runs/${runId}/calls`)).body,
    [Symbol.asyncDispose]: () => destination[Symbol.asyncDispose](),
  };
}

interface SpecDocument {
  readonly metadata: { readonly key: string; readonly version: string };
  readonly connectionParams: readonly object[];
}

const versionOf = (document: object): SpecDocument['metadata'] => (document as SpecDocument).metadata;

/** The spec with a PostgreSQL database as its destination, whatever it has. */
export const intoDatabase = (document: object, options: object = {}) => ({
  ...document,
  connectionParams: [
    ...(document as SpecDocument).connectionParams,
    { key: 'testDatabase', type: 'string', secret: true },
  ],
  destination: { kind: 'postgres', url: '{{ secrets.testDatabase }}', ssl: 'disable', ...options },
});
