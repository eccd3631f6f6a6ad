import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { holdWrites } from '../support/service/sql-gate.ts';
import { useStack } from '../support/service/use-stack.ts';
import { openAuditedSqlServer } from '../support/sqlserver/audit.ts';
import { type LaneServer, startLaneServer } from '../support/sqlserver/lane.ts';
import { expectExactlyOnce, inFlightMax } from '../support/sync/exactly-once.ts';
import { createSyncInto, type Sync, type SyncOptions } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';
import { watchPages } from '../support/upstream/watched-upstream.ts';

const perPage = 100;
const count = 4000;
const steps = ['asked', 'late', 'executed', 'applied'] as const;
type Step = (typeof steps)[number];

/** A page of these is more than the sockets between a client and a server that does not read can hold. */
const large = { count: 600, bytes: 40_000 };

const servers = new Map<string, LaneServer>();
for (const step of ['copying', ...steps]) servers.set(step, await startLaneServer());
const real = await openAuditedSqlServer();
afterAll(async () => {
  for (const server of servers.values()) await server[Symbol.asyncDispose]();
  await real?.[Symbol.asyncDispose]();
});

const watch = watchPages(perPage);
const shared = useStack(
  {
    collections: {
      copying: generateRecords(large.count, { bytes: large.bytes }),
      ...Object.fromEntries([...steps, 'random'].map((step) => [step, generateRecords(count)])),
    },
    reply: watch.reply,
  },
  { allow: [...[...servers.values()].map(({ port }) => `127.0.0.1:${port}`), ...(real ? [real.hostPort] : [])] },
);

/** A sync whose run has asked for its first page and waits for it. */
async function startSync(step: Step | 'copying', options: Pick<SyncOptions, 'transform'> = {}) {
  const { stack, upstream } = shared();
  const server = servers.get(step);
  if (!server) throw new Error('Each step has a server');
  const sync = await createSyncInto(stack, server, { upstream, collection: step, perPage, ...options });
  return { sync, server, runId: await sync.requestPaused() };
}

interface Killed {
  readonly sync: Sync<LaneServer>;
  readonly runId: string;
  /** Ends what the dead worker had begun. */
  readonly released: () => Promise<void> | void;
}

/** Kills the worker, starts another, and returns the pages that were in flight and those that were recorded in between. */
async function killAndReplace({ sync, runId, released }: Killed) {
  const { stack } = shared();
  await stack.killWorker('SIGKILL');
  await released();
  const inFlight = await sync.pagesInFlight();
  const recorded = await sync.recordedPages(runId);
  expect(inFlight).toBeLessThanOrEqual(inFlightMax(perPage));
  await stack.startWorker();
  return { inFlight, recorded };
}

/** Exactly once, and each row is that of its record. */
async function expectDelivered(
  { sync, runId }: { readonly sync: Sync<LaneServer>; readonly runId: string },
  { step, records, inFlight }: { readonly step: string; readonly records: number; readonly inFlight: number },
) {
  const { stack, upstream } = shared();
  await expectExactlyOnce(stack, { sync, runId }, { records, inFlight: [inFlight] });
  const rows = sync.destination.rows(step).map(({ id, name, _run_id }) => ({ id, name, _run_id }));
  const wanted = upstream.store(step).list();
  expect(rows).toEqual(wanted.map(({ id, name }) => ({ id, name, _run_id: runId })));
}

test('a worker killed while the bulk copy is in progress leaves nothing, and its successor copies the batch', async () => {
  const step = 'copying';
  const { sync, server, runId } = await startSync(step, { transform: "{ 'id': id, 'name': name, 'note': note }" });
  const copy = server.hold('copying', 2);
  shared().upstream.resume();
  await copy.reached;
  const before = await server.count(step);
  const { inFlight } = await killAndReplace({ sync, runId, released: copy.release });
  expect(server.brokenCopies()).toBe(1);
  expect(before).toBeLessThan(large.count);
  await expectDelivered({ sync, runId }, { step, records: large.count, inFlight });
});

test('a worker killed before the server executes its batch leaves nothing, and its successor delivers it', async () => {
  const step = 'asked';
  const { sync, server, runId } = await startSync(step);
  const batch = server.hold('asked', 3);
  shared().upstream.resume();
  await batch.reached;
  const before = await server.count(step);
  const { inFlight } = await killAndReplace({
    sync,
    runId,
    released: async () => {
      // The server has to know that its client is gone before it goes on.
      await server.quiet();
      batch.release();
    },
  });
  expect(inFlight).toBeGreaterThan(0);
  expect(await server.count(step)).toBe(before);
  await expectDelivered({ sync, runId }, { step, records: count, inFlight });
});

test('a batch that the server executes when a successor holds the lane changes nothing', async () => {
  const { stack, upstream } = shared();
  const step = 'late';
  const { sync, server, runId } = await startSync(step);
  const late = server.hold('asked', 3);
  const successor = server.hold('asked', 4);
  upstream.resume();
  await late.reached;
  const before = await server.count(step);
  await stack.killWorker('SIGKILL');
  const inFlight = await sync.pagesInFlight();
  await stack.startWorker();
  await successor.reached;
  late.release('anyway');
  successor.release();
  await expectDelivered({ sync, runId }, { step, records: count, inFlight });
  expect(server.refused()).toBe(1);
  expect(before).toBeLessThan(count);
});

test('a batch that was executed before its worker was killed is not delivered again', async () => {
  const step = 'executed';
  const { sync, server, runId } = await startSync(step);
  const batch = server.hold('executed', 3);
  shared().upstream.resume();
  await batch.reached;
  const delivered = (await server.count(step)) / perPage;
  const { inFlight, recorded } = await killAndReplace({ sync, runId, released: batch.release });
  expect(recorded).toBeLessThan(delivered);
  await expectDelivered({ sync, runId }, { step, records: count, inFlight });
});

test('a worker killed between the response and its record repairs the record and delivers nothing again', async () => {
  const { stack, upstream } = shared();
  const step = 'applied';
  const { sync, server, runId } = await startSync(step);
  const when = `new.run_id = '${runId}' and new.page_no = 15`;
  await using gate = await holdWrites(stack.databaseUrl, { table: 'run_pages', on: 'insert', when });
  upstream.resume();
  await gate.reached();
  const { inFlight, recorded } = await killAndReplace({ sync, runId, released: gate.abort });
  expect(recorded).toBeLessThan(15);
  expect((await server.count(step)) / perPage).toBeGreaterThanOrEqual(15);
  await expectDelivered({ sync, runId }, { step, records: count, inFlight });
});

test.skipIf(real === null)(
  'a worker killed at a random moment loses nothing at a real server: TEST_SQLSERVER_URL names one for it',
  async () => {
    const { stack, upstream } = shared();
    if (!real) throw new Error('There is a server');
    const sync = await createSyncInto(stack, real, { upstream, collection: 'random', perPage });
    const runId = await sync.requestPaused();
    const moment = { page: 1 + Math.floor(Math.random() * 30), ms: Math.floor(Math.random() * 30) };
    console.info(`kill after page ${moment.page}, ${moment.ms} ms later`);
    const replied = watch.replied('random', moment.page);
    upstream.resume();
    await replied;
    await sleep(moment.ms);
    await stack.killWorker('SIGKILL');
    await stack.startWorker();
    await expectExactlyOnce(stack, { sync, runId }, { records: count, inFlight: [inFlightMax(perPage)] });
  },
);
