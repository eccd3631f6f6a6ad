/**
 * Records the histories that `test/workflows/replay.test.ts` replays, from real runs: `node scripts/record-histories.ts`.
 * To be run when a change of the workflow is meant to be incompatible, and at no other time: a history that no longer
 * replays is a run of a customer that hangs after the next deployment. Needs TEST_DATABASE_URL and TEMPORAL_CLI or what
 * the tests find by themselves.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { eventually } from '../test/support/eventually.ts';
import setup from '../test/support/setup.ts';
import { type Stack, startStack } from '../test/support/stack.ts';
import { createSync, type Sync } from '../test/support/sync.ts';
import { generateRecords, startUpstream, type Upstream } from '../test/support/upstream.ts';
import { syncRunId } from '../workflows/contract.ts';

const folder = join(import.meta.dirname, '../test/fixtures/histories');
const records = generateRecords(1500);
/** Longer than what a worker waits for by itself: the run then sleeps on a durable timer. */
const retryAfterSeconds = 11;

const teardown = await setup();
try {
  await mkdir(folder, { recursive: true });
  await using upstream = await startUpstream({
    collections: { plain: records, lane: records, cancel: records, throttled: records },
  });
  await using stack = await startStack({ allow: [upstream.hostPort] });
  await recordPlain(stack, upstream);
  await recordLane(stack, upstream);
  await recordCancel(stack, upstream);
  await recordThrottled(stack, upstream);
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
  upstream.resume();
  await sync.ended(runId);
  await save(stack, { sync, collection: 'cancel', runId });
}

async function recordThrottled(stack: Stack, upstream: Upstream): Promise<void> {
  await using sync = await createSync(stack, { upstream, collection: 'throttled' });
  upstream.failAt(upstream.journal.length + 2, { kind: 'status', status: 429, retryAfter: retryAfterSeconds });
  const runId = await sync.request();
  await sync.ended(runId);
  await save(stack, { sync, collection: 'throttled', runId });
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
async function save({ temporal }: Stack, { sync, collection, runId }: Recorded): Promise<void> {
  const handle = temporal.client.workflow.getHandle(workflowIdOf(sync, collection, runId));
  await handle.result().catch(() => undefined);
  const history: unknown = JSON.parse(historyToJSON(await handle.fetchHistory()), withoutMachine);
  await writeFile(join(folder, `${collection}.json`), `${JSON.stringify(history, null, 1)}\n`);
}

/** Identities say on which machine a history was recorded. */
function withoutMachine(key: string, value: unknown): unknown {
  return key === 'identity' ? 'recorded' : value;
}
