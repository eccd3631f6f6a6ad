/**
 * Records the histories that `test/workflows/replay.test.ts` replays, from real runs: `node scripts/record-histories.ts
 * [name…]`. Only for a path without a history, or for an intentionally incompatible change of a workflow. A history
 * that no longer replays means that customers' runs hang after the next deployment. Needs TEST_DATABASE_URL and
 * TEMPORAL_CLI, or the defaults of the tests.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { createPayloadCodec } from '../src/core/crypto/payload-codec.ts';
import { eventually } from '../test/support/service/eventually.ts';
import { changePayloads } from '../test/support/service/payloads.ts';
import setup from '../test/support/service/setup.ts';
import { type Stack, startStack } from '../test/support/service/stack.ts';
import { createSync, type Sync } from '../test/support/sync/sync.ts';
import { generateRecords, startUpstream, type Upstream } from '../test/support/upstream/upstream.ts';
import { createEndpoint, emit } from '../test/support/webhooks/endpoints.ts';
import { createHook } from '../test/support/webhooks/hooks.ts';
import { inboundHookId, syncRunId, temporalScheduleId, webhookEndpointId } from '../workflows/contract.ts';
import type { scheduledRun } from '../workflows/scheduled-run.ts';

const folder = join(import.meta.dirname, '../test/fixtures/histories');
const records = generateRecords(1500);
/** Longer than a worker waits in process: the run then sleeps on a durable timer. */
const retryAfterSeconds = 11;

const recordings = {
  plain: recordPlain,
  lane: recordLane,
  cancel: recordCancel,
  throttled: recordThrottled,
  quiet: recordQuiet,
  firing: recordFiring,
  refused: recordRefused,
  inbound: recordInbound,
  webhook: recordWebhook,
};
const named = process.argv.slice(2);

const teardown = await setup();
try {
  await mkdir(folder, { recursive: true });
  await using upstream = await startUpstream({
    collections: Object.fromEntries(Object.keys(recordings).map((name) => [name, records])),
  });
  await using stack = await startStack({ allow: [upstream.hostPort] });
  for (const [name, record] of Object.entries(recordings)) {
    if (named.length === 0 || named.includes(name)) await record(stack, upstream);
  }
} finally {
  await teardown();
}

async function recordPlain(stack: Stack, upstream: Upstream): Promise<void> {
  await using sync = await createSync(stack, { upstream, collection: 'plain' });
  const runId = await sync.request();
  await sync.ended(runId);
  await save(stack, { sync, collection: 'plain', runId });
}

/** The second of two runs: it waits for its turn and is woken. */
async function recordLane(stack: Stack, upstream: Upstream): Promise<void> {
  await using sync = await createSync(stack, { upstream, collection: 'lane' });
  const first = await sync.requestPaused();
  const second = await sync.request();
  const handle = stack.temporal.client.workflow.getHandle(workflowIdOf(sync, 'lane', second));
  await eventually('the second run waits', async () =>
    (await handle.fetchHistory()).events?.some((event) => event.timerStartedEventAttributes),
  );
  upstream.resume();
  await sync.ended(first);
  await sync.ended(second);
  await save(stack, { sync, collection: 'lane', runId: second });
}

async function recordCancel(stack: Stack, upstream: Upstream): Promise<void> {
  await using sync = await createSync(stack, { upstream, collection: 'cancel' });
  const runId = await sync.requestPaused();
  await stack.org.call('POST', `/runs/${runId}/cancel`);
  // The awaited page never comes: a page could be the last, and the run would succeed.
  await sync.ended(runId);
  upstream.resume();
  await save(stack, { sync, collection: 'cancel', runId });
}

async function recordThrottled(stack: Stack, upstream: Upstream): Promise<void> {
  await using sync = await createSync(stack, { upstream, collection: 'throttled' });
  upstream.failAt(upstream.journal.length + 2, { kind: 'status', status: 429, retryAfter: retryAfterSeconds });
  const runId = await sync.request();
  await sync.ended(runId);
  await save(stack, { sync, collection: 'throttled', runId });
}

/** A run that finds nothing new, in a lane that was read in a moment. */
async function recordQuiet(stack: Stack, upstream: Upstream): Promise<void> {
  await using sync = await createSync(stack, { upstream, collection: 'quiet' });
  const runId = await quietRun(stack, sync);
  await save(stack, { sync, collection: 'quiet', runId });
}

async function recordFiring(stack: Stack, upstream: Upstream): Promise<void> {
  await using sync = await createSync(stack, { upstream, collection: 'firing' });
  await quietRun(stack, sync);
  const workflowId = await firedWorkflow(stack, sync, { collection: 'firing', isRun: true });
  await saveHistory(stack, { name: 'firing', workflowId });
}

async function recordRefused(stack: Stack, upstream: Upstream): Promise<void> {
  await using sync = await createSync(stack, { upstream, collection: 'refused' });
  const broken = stack.db.updateTable('connections').set({ status: 'error' }).where('id', '=', sync.connectionId);
  await broken.execute();
  const workflowId = await firedWorkflow(stack, sync, { collection: 'refused', isRun: false });
  await saveHistory(stack, { name: 'refused', workflowId });
}

/** Returns the id of the first run that ends in its first step. */
async function quietRun(stack: Stack, sync: Sync): Promise<string> {
  const lane = stack.db.selectFrom('lanes').select('quick').where('connectionId', '=', sync.connectionId);
  return await eventually('the lane is quick', async () => {
    const wasQuick = (await lane.executeTakeFirst())?.quick ?? false;
    const runId = await sync.request();
    await sync.ended(runId);
    return wasQuick ? runId : null;
  });
}

interface Fired {
  readonly collection: string;
  readonly isRun: boolean;
}

async function firedWorkflow(stack: Stack, sync: Sync, { collection, isRun }: Fired): Promise<string> {
  const body = { resourceKey: collection, cron: '* * * * * *' };
  const { body: schedule } = await stack.org.call('POST', `/connections/${sync.connectionId}/schedules`, { body });
  const { client } = stack.temporal;
  await client.schedule.getHandle(temporalScheduleId(schedule.id)).unpause();
  const query = `TemporalScheduledById = '${temporalScheduleId(schedule.id)}' AND ExecutionStatus = 'Completed'`;
  const workflowId = await eventually('it fires', async () => {
    for await (const { workflowId: id } of client.workflow.list({ query })) {
      const { runId } = await client.workflow.getHandle<typeof scheduledRun>(id).result();
      if ((runId !== null) === isRun) return id;
    }
    return null;
  });
  await stack.org.call('DELETE', `/schedules/${schedule.id}`);
  return workflowId;
}

/** Requests to a hook while the first of them waits, and while a run is created for it. */
async function recordInbound(stack: Stack, upstream: Upstream): Promise<void> {
  await using sync = await createSync(stack, { upstream, collection: 'inbound' });
  const { connectionId } = sync;
  const settings = { resourceKeys: ['inbound'], debounceSeconds: 1 };
  const hook = await createHook(fetch, stack.org, connectionId, settings);
  for (const body of ['1', '2']) await hook.post(body);
  const runId = await eventually('a run is created', async () => (await hook.requests())[0]?.runs[0]?.runId);
  await sync.ended(runId);
  await saveHistory(stack, { name: 'inbound', workflowId: inboundHookId({ connectionId, resourceKey: 'inbound' }) });
}

/** An event accepted at the second attempt, and one that comes while the workflow rests. */
async function recordWebhook(stack: Stack, upstream: Upstream): Promise<void> {
  const endpoint = await createEndpoint(stack, { url: () => `${upstream.url}/echo` }, { name: 'recorded' });
  const taken = (count: number) =>
    eventually(`${count} are taken`, async () => (await endpoint.queue())['succeeded'] === count);
  const workflowId = webhookEndpointId({ ...stack.org, endpointId: endpoint.id });
  upstream.failAt(upstream.journal.length + 1, { kind: 'status', status: 500 });
  await emit(stack);
  await taken(1);
  await eventually('it waits for the second time', async () => {
    const { events } = await stack.temporal.client.workflow.getHandle(workflowId).fetchHistory();
    return events?.filter((event) => event.timerStartedEventAttributes).length === 2;
  });
  await emit(stack);
  await taken(2);
  await saveHistory(stack, { name: 'webhook', workflowId });
}

interface Recorded {
  readonly sync: Sync;
  readonly collection: string;
  readonly runId: string;
}

function workflowIdOf({ connectionId }: Sync, resourceKey: string, runId: string): string {
  return syncRunId({ connectionId, resourceKey, runId });
}

/** The run row is final a moment before its workflow closes. */
function save(stack: Stack, { sync, collection, runId }: Recorded): Promise<void> {
  return saveHistory(stack, { name: collection, workflowId: workflowIdOf(sync, collection, runId) });
}

interface Recording {
  readonly name: string;
  readonly workflowId: string;
}

async function saveHistory({ temporal, keyRing }: Stack, { name, workflowId }: Recording): Promise<void> {
  const handle = temporal.client.workflow.getHandle(workflowId);
  await handle.result().catch(() => undefined);
  // Decrypted, because the key ends with the stack.
  const fetched = await changePayloads(await handle.fetchHistory(), createPayloadCodec(keyRing).decode);
  const history: unknown = JSON.parse(historyToJSON(fetched), withoutMachine);
  await writeFile(join(folder, `${name}.json`), `${JSON.stringify(history, null, 1)}\n`);
}

/** Identities name the machine of the recording. */
function withoutMachine(key: string, value: unknown): unknown {
  return key === 'identity' ? 'recorded' : value;
}
