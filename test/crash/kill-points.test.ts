import { expect, test } from 'vitest';
import { syncRunId } from '../../workflows/contract.ts';
import { announceUpdates, blockedBy, holdRows, holdWrites } from '../support/service/sql-gate.ts';
import { useStack } from '../support/service/use-stack.ts';
import { expectExactlyOnce, inFlightMax } from '../support/sync/exactly-once.ts';
import { createSync, type Sync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';
import { watchPages } from '../support/upstream/watched-upstream.ts';

const records = 4000;
const perPage = 100;
/** In the middle of the run; the record is on it. */
const page = 21;
const recordId = 'r002050';
const steps = [
  'fetched',
  'delivering',
  'rolled_back',
  'delivered',
  'recording',
  'outlived',
  'recorded',
  'ending',
  'ended',
] as const;
type Step = (typeof steps)[number];

const watch = watchPages(perPage);
const shared = useStack({
  collections: Object.fromEntries(steps.map((step) => [step, generateRecords(records)])),
  reply: watch.reply,
});

const syncOf = (step: Step): Promise<Sync> =>
  createSync(shared().stack, { upstream: shared().upstream, collection: step, perPage });

/** The insert of the record at the destination. */
const insertOf = (table: Step) => ({ table, on: 'insert', when: `new._external_id = '${recordId}'` }) as const;

/** Kills the worker, starts another, and returns what was in flight. `released` ends what the dead one had begun. */
async function killAndReplace(sync: Sync, released?: () => Promise<void>): Promise<number> {
  const { stack } = shared();
  await stack.killWorker('SIGKILL');
  await released?.();
  const inFlight = await sync.pagesInFlight();
  expect(inFlight).toBeLessThanOrEqual(inFlightMax(perPage));
  await stack.startWorker();
  return inFlight;
}

test('a worker killed between fetch and delivery fetches only the pages in flight again', async () => {
  const { stack, upstream } = shared();
  await using sync = await syncOf('fetched');
  const runId = await sync.requestPaused();
  const replied = watch.replied('fetched', page);
  upstream.resume();
  await replied;
  const inFlight = await killAndReplace(sync);
  expect(inFlight).toBeGreaterThan(0);
  await expectExactlyOnce(stack, { sync, runId }, { records, inFlight: [inFlight] });
});

test('a batch that commits after its worker was killed is neither fetched nor delivered again', async () => {
  const { stack, upstream } = shared();
  await using sync = await syncOf('delivering');
  const runId = await sync.requestPaused();
  await using gate = await holdWrites(sync.destination.url, insertOf('delivering'));
  upstream.resume();
  const dead = await gate.reached();
  await stack.killWorker('SIGKILL');
  await stack.startWorker();
  // The successor claims the lane while the transaction of the dead one still holds it.
  await blockedBy(sync.destination.url, dead);
  const asked = sync.fetches();
  await gate.open();
  await expectExactlyOnce(stack, { sync, runId }, { records, inFlight: [asked - page] });
});

test('a batch that is rolled back when its worker was killed is fetched and delivered again', async () => {
  const { stack, upstream } = shared();
  await using sync = await syncOf('rolled_back');
  const runId = await sync.requestPaused();
  await using gate = await holdWrites(sync.destination.url, insertOf('rolled_back'));
  upstream.resume();
  await gate.reached();
  const inFlight = await killAndReplace(sync, gate.abort);
  await expectExactlyOnce(stack, { sync, runId }, { records, inFlight: [inFlight] });
});

test('a worker killed between the commit at the destination and its own fetches no delivered page again', async () => {
  const { stack, upstream } = shared();
  await using sync = await syncOf('delivered');
  const runId = await sync.requestPaused();
  await using delivering = await holdWrites(sync.destination.url, insertOf('delivered'));
  upstream.resume();
  await delivering.reached();
  // `no key`: what only refers to the run, the calls of the batch behind, is not held.
  const run = `select from runs where id = '${runId}' for no key update`;
  await using recording = await holdRows(stack.databaseUrl, run);
  await delivering.open();
  await recording.reached();
  const left = { asked: 0, recorded: 0 };
  const inFlight = await killAndReplace(sync, async () => {
    await recording.abort();
    left.asked = sync.fetches();
    left.recorded = await sync.recordedPages(runId);
  });
  expect(left.recorded).toBeLessThan(page);
  expect(inFlight).toBeLessThan(left.asked - left.recorded);
  await expectExactlyOnce(stack, { sync, runId }, { records, inFlight: [inFlight] });
});

test('a worker killed in the middle of its bookkeeping leaves none of it and repairs it from the receipt', async () => {
  const { stack, upstream } = shared();
  await using sync = await syncOf('recording');
  const runId = await sync.requestPaused();
  await using gate = await holdBookkeeping(runId);
  upstream.resume();
  await gate.reached();
  const inFlight = await killAndReplace(sync, gate.abort);
  await expectExactlyOnce(stack, { sync, runId }, { records, inFlight: [inFlight] });
});

test('bookkeeping that commits after its worker was killed counts: its successor waits for it', async () => {
  const { stack, upstream } = shared();
  await using sync = await syncOf('outlived');
  const runId = await sync.requestPaused();
  await using gate = await holdBookkeeping(runId);
  upstream.resume();
  const dead = await gate.reached();
  await stack.killWorker('SIGKILL');
  await stack.startWorker();
  await blockedBy(stack.databaseUrl, dead);
  expect(await sync.recordedPages(runId)).toBeLessThan(page);
  const asked = sync.fetches();
  await gate.open();
  await expectExactlyOnce(stack, { sync, runId }, { records, inFlight: [asked - page] });
});

test('a worker killed right after its bookkeeping goes on behind it', async () => {
  const { stack, upstream } = shared();
  await using sync = await syncOf('recorded');
  const runId = await sync.requestPaused();
  const when = `new.id = '${runId}' and new.page_no >= ${page}`;
  await using recorded = await announceUpdates(stack.databaseUrl, { table: 'runs', when });
  upstream.resume();
  await recorded.first;
  const inFlight = await killAndReplace(sync);
  await expectExactlyOnce(stack, { sync, runId }, { records, inFlight: [inFlight] });
});

test('a worker killed while it ends the run leaves it running, and its successor ends it', async () => {
  const { stack, upstream } = shared();
  await using sync = await syncOf('ending');
  const runId = await sync.requestPaused();
  const when = `new.id = '${runId}' and new.status = 'succeeded'`;
  await using gate = await holdWrites(stack.databaseUrl, { table: 'runs', on: 'update', when });
  upstream.resume();
  await gate.reached();
  const inFlight = await killAndReplace(sync, gate.open);
  expect(inFlight).toBe(0);
  expect((await sync.run(runId)).status).toBe('running');
  await expectExactlyOnce(stack, { sync, runId }, { records, inFlight: [] });
});

test('a worker killed right after it ended the run leaves a workflow that closes without doing anything', async () => {
  const { stack, upstream } = shared();
  await using sync = await syncOf('ended');
  const runId = await sync.requestPaused();
  const when = `new.id = '${runId}' and new.status = 'succeeded'`;
  await using ended = await announceUpdates(stack.databaseUrl, { table: 'runs', when });
  upstream.resume();
  await ended.first;
  await killAndReplace(sync);
  const workflowId = syncRunId({ connectionId: sync.connectionId, resourceKey: 'ended', runId });
  await stack.temporal.client.workflow.getHandle(workflowId).result();
  await expectExactlyOnce(stack, { sync, runId }, { records, inFlight: [] });
});

/** Holds the statement that records the page. */
const holdBookkeeping = (runId: string) =>
  holdWrites(shared().stack.databaseUrl, {
    table: 'run_pages',
    on: 'insert',
    when: `new.run_id = '${runId}' and new.page_no = ${page}`,
  });
