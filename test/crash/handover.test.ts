import { expect, test } from 'vitest';
import { syncRunId } from '../../workflows/contract.ts';
import { eventually } from '../support/service/eventually.ts';
import { holdWrites } from '../support/service/sql-gate.ts';
import { useStack } from '../support/service/use-stack.ts';
import { expectExactlyOnce, inFlightMax } from '../support/sync/exactly-once.ts';
import { createSync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';
import { watchPages } from '../support/upstream/watched-upstream.ts';

const pages = 200;
const perPage = 100;
const records = pages * perPage;

const watch = watchPages(perPage);
const shared = useStack({
  collections: Object.fromEntries(['told', 'frozen', 'locking'].map((name) => [name, generateRecords(records)])),
  reply: watch.reply,
  latencyMs: 5,
});

test('a worker that is stopped hands its run over at a page boundary, and no page is fetched twice', async () => {
  const { stack, upstream } = shared();
  await using sync = await createSync(stack, { upstream, collection: 'told', perPage });
  const runId = await sync.requestPaused();
  const first = stack.worker();
  await stack.startWorker();
  const replied = watch.replied('told', 50);
  upstream.resume();
  await replied;
  await first.kill('SIGTERM');
  expect(first.exitCode()).toBe(0);
  expect((await sync.run(runId)).status).toBe('running');
  await expectExactlyOnce(stack, { sync, runId }, { records, inFlight: [] });
});

test('a worker frozen past its heartbeat timeout delivers nothing more when it wakes up', async () => {
  const { stack, upstream } = shared();
  await using sync = await createSync(stack, { upstream, collection: 'frozen', perPage });
  const runId = await sync.requestPaused();
  const frozen = stack.worker();
  const replied = watch.replied('frozen', 50);
  upstream.resume();
  await replied;
  await frozen.kill('SIGSTOP');
  await stack.startWorker();
  const successor = watch.replied('frozen', 120);
  await successor;
  await frozen.kill('SIGCONT');
  await expectExactlyOnce(stack, { sync, runId }, { records, inFlight: [inFlightMax(perPage)] });
  await eventually('the frozen worker is told', async () => frozen.tail().includes('fenced'));
  // The first attempt, one for each of the two polls that the frozen worker had open, and the successor's.
  const workflowId = syncRunId({ connectionId: sync.connectionId, resourceKey: 'frozen', runId });
  const { events } = await stack.temporal.client.workflow.getHandle(workflowId).fetchHistory();
  const attempts = events?.map((event) => event.activityTaskStartedEventAttributes?.attempt ?? 0) ?? [];
  expect(Math.max(...attempts)).toBeLessThanOrEqual(4);
});

test('a worker frozen in the middle of its bookkeeping loses its locks, and the run goes on without it', async () => {
  const { stack, upstream } = shared();
  const [, ...others] = stack.workers().toReversed();
  await Promise.all(others.map((worker) => worker.kill('SIGKILL')));
  await using sync = await createSync(stack, { upstream, collection: 'locking', perPage });
  const runId = await sync.requestPaused();
  const when = `new.run_id = '${runId}' and new.page_no = 50`;
  await using gate = await holdWrites(stack.databaseUrl, { table: 'run_pages', on: 'insert', when });
  upstream.resume();
  await gate.reached();
  const frozen = stack.worker();
  await frozen.kill('SIGSTOP');
  await gate.open();
  await stack.startWorker();
  // Far behind all that the frozen one had asked for: the successor has taken the lane.
  await watch.replied('locking', 120);
  await frozen.kill('SIGKILL');
  await expectExactlyOnce(stack, { sync, runId }, { records, inFlight: [inFlightMax(perPage)] });
});
