import { expect, test } from 'vitest';
import {
  collectionOf,
  createWebhookSync,
  useWebhookStack,
  type WebhookSync,
} from '../support/destinations/webhook-sync.ts';
import { eventually } from '../support/service/eventually.ts';
import { holdWrites } from '../support/service/sql-gate.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

const records = 3000;
const steps = ['in-flight', 'several-times', 'at-once', 'midway', 'told', 'acknowledged', 'completed'] as const;
type Step = (typeof steps)[number];
const shared = useWebhookStack({
  collections: Object.fromEntries(steps.map((step) => [step, generateRecords(records)])),
});

const syncOf = (
  key: Step,
  destination: Readonly<Record<string, unknown>> = { batchSize: 100 },
): Promise<WebhookSync> => {
  const resource = { ...collectionOf(key), transform: "{ 'id': id, 'name': name }" };
  return createWebhookSync(shared(), { key, resource, destination });
};
const postsOf = (key: Step) => shared().receiver.posts.filter(({ batch }) => batch.resourceKey === key);

/** Ends the worker and waits for what its successor posts first; the responses stay held. */
async function killAndReplace(): Promise<void> {
  const { stack, receiver } = shared();
  const posted = receiver.upstream.journal.length;
  await stack.killWorker('SIGKILL');
  await stack.startWorker();
  await receiver.upstream.requested(posted + 1);
}

/**
 * Every record came, in requests that the library verifies and that are numbered without a gap; those that came twice did so
 * byte for byte.
 */
async function expectDelivered(key: Step, { sync, runId }: { readonly sync: WebhookSync; readonly runId: string }) {
  const run = await sync.ended(runId);
  expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: records, recordsOut: records } });
  const { receiver } = shared();
  expect(receiver.unverified).toEqual([]);
  const isParallel = key === 'at-once' || key === 'midway';
  const bytesById = new Map<string, string>();
  const delivered: string[] = [];
  const sequences: number[] = [];
  for (const { id, sha256, batch } of postsOf(key)) {
    expect(bytesById.get(id) ?? sha256).toBe(sha256);
    if (!bytesById.has(id)) {
      delivered.push(...batch.records.map(({ externalId }) => externalId));
      sequences.push(batch.batch.sequence);
    }
    bytesById.set(id, sha256);
  }
  const numbered = sequences.map((_sequence, index) => index + 1);
  expect(isParallel ? sequences.toSorted((one, other) => one - other) : sequences).toEqual(numbered);
  expect(delivered).toHaveLength(records);
  expect(new Set(delivered).size).toBe(records);
  expect(receiver.rows(key)).toHaveLength(records);
  return { repeated: postsOf(key).length - bytesById.size };
}

test('a worker killed with a request in flight: that one is repeated, byte for byte, and nothing else', async () => {
  const { receiver } = shared();
  const sync = await syncOf('in-flight');
  const gate = receiver.upstream.hold(receiver.upstream.journal.length + 12);
  const runId = await sync.request();
  await gate.reached;
  const next = receiver.upstream.hold(receiver.upstream.journal.length + 1);
  await killAndReplace();
  const [lost, again] = receiver.upstream.journal.slice(-2);
  expect(again?.body).toBe(lost?.body);
  expect(again?.headers['webhook-id']).toBe(lost?.headers['webhook-id']);
  // The receiver takes the request of the dead worker after all, and then its repetition.
  gate.release();
  await eventually('the first is taken', async () => lost?.responseAt !== null);
  next.release();
  expect(await expectDelivered('in-flight', { sync, runId })).toEqual({ repeated: 1 });
});

test('workers killed one after the other with the same request in flight repeat it and nothing else', async () => {
  const { receiver } = shared();
  const sync = await syncOf('several-times');
  const first = receiver.upstream.journal.length + 5;
  const gates = [0, 1, 2, 3].map((n) => receiver.upstream.hold(first + n));
  const runId = await sync.request();
  await gates[0]?.reached;
  for (let kill = 0; kill < 3; kill += 1) await killAndReplace();
  for (const gate of gates) gate.release();
  expect(await expectDelivered('several-times', { sync, runId })).toEqual({ repeated: 3 });
});

test('a worker killed with four requests in flight: these are repeated, byte for byte, and nothing else', async () => {
  const { receiver } = shared();
  const sync = await syncOf('at-once', { batchSize: 20, parallelism: 4 });
  const first = receiver.upstream.journal.length + 1;
  const gates = [0, 1, 2, 3].map((n) => receiver.upstream.hold(first + n));
  const runId = await sync.request();
  await Promise.all(gates.map(({ reached }) => reached));
  await killAndReplace();
  for (const gate of gates) gate.release();
  expect(await expectDelivered('at-once', { sync, runId })).toEqual({ repeated: 4 });
});

test('a worker killed in the middle of a run with parallelism 4 repeats at most four requests', async () => {
  const { receiver } = shared();
  const sync = await syncOf('midway', { batchSize: 20, parallelism: 4 });
  const gate = receiver.upstream.hold(receiver.upstream.journal.length + 60);
  const runId = await sync.request();
  await gate.reached;
  await killAndReplace();
  gate.release();
  const { repeated } = await expectDelivered('midway', { sync, runId });
  expect(repeated).toBeGreaterThanOrEqual(1);
  expect(repeated).toBeLessThanOrEqual(4);
});

test('a worker told to stop with a request in flight waits for its response and records it: nothing comes twice', async () => {
  const { stack, receiver } = shared();
  const sync = await syncOf('told');
  const gate = receiver.upstream.hold(receiver.upstream.journal.length + 5);
  const runId = await sync.request();
  await gate.reached;
  const worker = stack.worker();
  const stopped = worker.kill('SIGTERM');
  await worker.logged('STOPPING');
  gate.release();
  await stopped;
  expect(worker.exitCode()).toBe(0);
  expect((await sync.run(runId)).status).toBe('running');
  const posted = postsOf('told').length;
  const { parts } = await stack.db
    .selectFrom('outboxParts')
    .select(({ fn }) => fn.countAll<number>().as('parts'))
    .executeTakeFirstOrThrow();
  expect(parts).toBe(0);
  await stack.startWorker();
  expect(await expectDelivered('told', { sync, runId })).toEqual({ repeated: 0 });
  expect(postsOf('told').length).toBeGreaterThan(posted);
});

test('a worker killed when all of a batch has its responses but is not completed sends nothing of it again', async () => {
  const { stack } = shared();
  const sync = await syncOf('acknowledged');
  const when = 'new.batch_no is distinct from old.batch_no and new.batch_no = 2';
  await using gate = await holdWrites(stack.databaseUrl, { table: 'outboxes', on: 'update', when });
  const runId = await sync.request();
  await gate.reached();
  await stack.killWorker('SIGKILL');
  await gate.abort();
  await stack.startWorker();
  expect(await expectDelivered('acknowledged', { sync, runId })).toEqual({ repeated: 0 });
});

test('a worker killed between the completed batch and its record repairs the record and sends nothing again', async () => {
  const { stack } = shared();
  const sync = await syncOf('completed');
  const write = { table: 'run_pages', on: 'insert', when: 'new.page_no = 10' } as const;
  await using gate = await holdWrites(stack.databaseUrl, write);
  const runId = await sync.request();
  await gate.reached();
  await stack.killWorker('SIGKILL');
  await gate.abort();
  await stack.startWorker();
  expect(await expectDelivered('completed', { sync, runId })).toEqual({ repeated: 0 });
});
