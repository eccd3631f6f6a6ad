import { afterAll, afterEach, beforeAll } from 'vitest';
import type { JsonObject } from '../../../src/core/json/json-object.ts';
import type { QuarantineRow } from '../../../src/core/resources/quarantine.ts';
import type { CallLogRow, RunRow } from '../../../src/core/resources/run.ts';
import { eventually } from '../service/eventually.ts';
import { type Stack, startStack } from '../service/stack.ts';
import { startUpstream, type Upstream, type UpstreamOptions } from '../upstream/upstream.ts';
import { type Receiver, startReceiver } from './webhook-receiver.ts';

/** What the tests of a file share: a fake customer API, a webhook receiver and the running service. */
export interface WebhookStack {
  readonly upstream: Upstream;
  readonly receiver: Receiver;
  readonly stack: Stack;
}

/** What the receiver's signatures are made with. */
export const hookSecret = `whsec_${Buffer.from('the secret of this receiver').toString('base64')}`;

/** Starts all before the tests of a file and ends them after; a failed test prints the ends of all logs. */
export function useWebhookStack(upstreamOptions: UpstreamOptions): () => WebhookStack {
  const started = new AsyncDisposableStack();
  let shared: WebhookStack | undefined;
  beforeAll(async () => {
    const upstream = started.use(await startUpstream(upstreamOptions));
    const receiver = started.use(await startReceiver(hookSecret));
    const stack = started.use(await startStack({ allow: [upstream.hostPort, receiver.hostPort] }));
    shared = { upstream, receiver, stack };
  }, 60_000);
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') process.stderr.write(`${shared?.stack.tails() ?? ''}\n`);
  });
  afterAll(() => started.disposeAsync());
  return () => {
    if (!shared) throw new Error('The stack is started before the first test');
    return shared;
  };
}

/** A connection that reads one resource and posts it to the receiver. */
export interface WebhookSync {
  readonly connectionId: string;
  /** Requests a run; its id. */
  request(): Promise<string>;
  run(runId: string): Promise<RunRow>;
  /** Resolves with the final row. */
  ended(runId: string): Promise<RunRow>;
  /** Requests a run and resolves with its final row. */
  sync(): Promise<RunRow>;
  /** The requests of a run to the receiver. */
  posts(runId: string): Promise<readonly CallLogRow[]>;
  quarantine(): Promise<readonly QuarantineRow[]>;
  status(): Promise<string>;
  override(overrides: JsonObject): Promise<void>;
}

/** What a test decides. */
interface WebhookSyncOptions {
  /** Of the resource, also in its path; lower case. */
  readonly key: string;
  readonly resource: JsonObject;
  /** Options beside URL and secret. */
  readonly destination?: JsonObject;
}

/** Publishes a spec with one resource, and activates a connection of it. */
export async function createWebhookSync(
  { stack, upstream, receiver }: WebhookStack,
  { key, resource, destination = {} }: WebhookSyncOptions,
): Promise<WebhookSync> {
  const ask = async (method: string, path: string, body?: unknown) => {
    const reply = await stack.org.call(method, path, { body });
    if (reply.status >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(reply.body)}`);
    return reply.body;
  };
  await ask('POST', '/specs', {
    metadata: { key, name: key, version: '1.0.0' },
    connectionParams: [{ key: 'hookSecret', type: 'string', secret: true }],
    http: { baseUrl: upstream.url, rateLimit: { requests: 1_000_000, perSeconds: 1 }, retry: { baseMs: 10 } },
    resources: [{ key, primaryKey: 'id', request: { path: `/${key}` }, ...resource }],
    destination: {
      kind: 'webhook',
      url: `${receiver.url}/${key}`,
      signingSecret: '{{ secrets.hookSecret }}',
      ...destination,
    },
  });
  await ask('POST', `/specs/${key}/versions/1.0.0/publish`);
  const { id: connectionId } = await ask('POST', '/connections', {
    workspaceId: stack.org.workspaceId,
    specKey: key,
    specVersion: '1.0.0',
    displayName: key,
    params: {},
    secrets: { hookSecret },
  });
  await ask('POST', `/connections/${connectionId}/activate`);
  const run = (runId: string): Promise<RunRow> => ask('GET', `/runs/${runId}`);
  const request = async (): Promise<string> =>
    (await ask('POST', `/connections/${connectionId}/sync`, { resource: key })).id;
  const ended = (runId: string): Promise<RunRow> =>
    eventually(`run ${runId} of ${key} ends`, async () => {
      const row = await run(runId);
      return row.finishedAt !== null && row;
    });
  return {
    connectionId,
    request,
    run,
    ended,
    sync: async () => await ended(await request()),
    async posts(runId) {
      const calls: readonly CallLogRow[] = await ask('GET', `/runs/${runId}/calls`);
      return calls.filter(({ url }) => url.startsWith(receiver.url));
    },
    quarantine: () => ask('GET', `/quarantine?connectionId=${connectionId}`),
    status: async () => (await ask('GET', `/connections/${connectionId}`)).status,
    async override(specOverridesJson) {
      await ask('PATCH', `/connections/${connectionId}`, { specOverridesJson });
    },
  };
}

/** How a collection of the fake API is read, 100 records to a page. */
export const collectionOf = (name: string): JsonObject => ({
  request: { path: `/cursor/${name}`, query: { per_page: '{{ page.size }}', updated_since: '{{ window.from }}' } },
  response: { records: 'data' },
  pagination: { kind: 'cursor', next: 'body.next_cursor', size: 100, inject: { in: 'query', name: 'cursor' } },
});
