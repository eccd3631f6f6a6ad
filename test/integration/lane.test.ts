import { sql } from 'kysely';
import { beforeAll, describe, expect, test } from 'vitest';
import { syncRunId } from '../../workflows/contract.ts';
import { eventually } from '../support/service/eventually.ts';
import { useStack } from '../support/service/use-stack.ts';
import { createSync, type Sync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

const perPage = 100;
const records = 2000;
const collections = ['orders', 'customers', 'waiting', 'reading', 'terminated', 'deleted', 'orphaned'];
const shared = useStack({
  collections: Object.fromEntries(collections.map((name) => [name, generateRecords(records)])),
  latencyMs: 20,
});

const syncOf = (collection: string): Promise<Sync> =>
  createSync(shared().stack, { upstream: shared().upstream, collection, perPage });

beforeAll(async () => {
  // Written in the transactions that change a status, which the lane makes wait for each other: its order is theirs.
  await sql
    .raw(`
      create table status_log (n bigserial primary key, run_id text not null, status text not null);
      create function note_status() returns trigger language plpgsql as $$
        begin insert into status_log (run_id, status) values (new.id, new.status); return null; end $$;
      create trigger note_status after update of status on runs for each row
        when (old.status <> new.status) execute function note_status()`)
    .execute(shared().stack.db);
});

describe('a lane with a worker killed in the middle', () => {
  test('runs one at a time, in the order of arrival, and every run succeeds', async () => {
    const { stack, upstream } = shared();
    await using orders = await syncOf('orders');
    await using customers = await syncOf('customers');
    const first = await inTurn(10, () => orders.request());
    const second = await inTurn(3, () => customers.request());
    // Both first runs are over by then, most others wait.
    await upstream.requested(orders.pages + customers.pages + 4);
    await stack.killWorker('SIGKILL');
    await stack.startWorker();
    const ended = await Promise.all([
      ...first.map((runId) => orders.ended(runId)),
      ...second.map((runId) => customers.ended(runId)),
    ]);
    expect(ended.map(({ status }) => status)).toEqual(Array.from({ length: 13 }, () => 'succeeded'));
    const oneByOne = (runs: readonly string[]) => runs.flatMap((run) => [`${run} running`, `${run} succeeded`]);
    expect(await statusLog(first)).toEqual(oneByOne(first));
    expect(await statusLog(second)).toEqual(oneByOne(second));
  });
});

describe('a canceled run', () => {
  test('that waits in its lane ends as canceled without a request to the API', async () => {
    const { stack, upstream } = shared();
    await using sync = await syncOf('waiting');
    const running = await sync.requestPaused();
    const waiting = await sync.request();
    const fetches = sync.fetches();
    await cancel(waiting);
    expect((await sync.ended(waiting)).status).toBe('canceled');
    expect(sync.fetches()).toBe(fetches);
    upstream.resume();
    expect((await sync.ended(running)).status).toBe('succeeded');
    const calls = await stack.org.call('GET', `/runs/${waiting}/calls`);
    expect(calls.body).toEqual([]);
  });

  test('that reads stops at a page boundary, its rows are frozen, and the next run goes on from there', async () => {
    const { upstream } = shared();
    await using sync = await syncOf('reading');
    const runId = await sync.requestPaused();
    upstream.resume();
    await eventually('some rows are delivered', async () => (await sync.destination.writes()).rows > 0);
    await cancel(runId);
    const run = await sync.ended(runId);
    const frozen = await sync.destination.writes();
    expect(run.status).toBe('canceled');
    expect(run.statsJson.recordsOut).toBe(frozen.rows);
    expect(frozen.rows).toBeLessThan(records);
    await sync.destination.quiet();
    expect(await sync.destination.writes()).toEqual(frozen);
    const next = await sync.ended(await sync.request());
    expect(next.status).toBe('succeeded');
    expect(await sync.destination.writes()).toEqual({ rows: records, inserts: records, updates: 0, deletes: 0 });
  });
});

describe('a run whose workflow is lost', () => {
  test('goes on under its id where its ledger stands, and one that waits behind it begins', async () => {
    const { upstream } = shared();
    await using sync = await syncOf('deleted');
    const running = await sync.requestPaused();
    const waiting = await sync.request();
    for (const runId of [running, waiting]) await lose(sync, runId, 'deleted');
    upstream.resume();
    expect((await sync.ended(running)).status).toBe('succeeded');
    expect((await sync.ended(waiting)).status).toBe('succeeded');
    expect(await sync.destination.writes()).toEqual({ rows: records, inserts: records, updates: 0, deletes: 0 });
  });

  test('as an operator has terminated it is canceled, and one that waits behind it begins', async () => {
    const { upstream } = shared();
    await using sync = await syncOf('terminated');
    const running = await sync.requestPaused();
    const next = await sync.request();
    await lose(sync, running, 'terminated');
    const run = await sync.ended(running);
    expect([run.status, run.error?.code]).toEqual(['canceled', 'terminated']);
    expect(run.error?.message).toContain('operator');
    upstream.resume();
    expect((await sync.ended(next)).status).toBe('succeeded');
    expect(await sync.destination.writes()).toEqual({ rows: records, inserts: records, updates: 0, deletes: 0 });
  });

  test('time and again is ended, and its lane goes on', async () => {
    const { stack, upstream } = shared();
    await using sync = await syncOf('orphaned');
    const orphan = await sync.requestPaused();
    const next = await sync.request();
    await sql`update runs set restarts = 3 where id = ${orphan}`.execute(stack.db);
    await lose(sync, orphan, 'deleted');
    expect((await sync.ended(orphan)).status).toBe('failed');
    expect(await errorCodeOf(orphan)).toBe('orchestration_lost');
    upstream.resume();
    expect((await sync.ended(next)).status).toBe('succeeded');
    expect(await sync.destination.writes()).toEqual({ rows: records, inserts: records, updates: 0, deletes: 0 });
  });
});

async function lose(sync: Sync, runId: string, how: 'terminated' | 'deleted'): Promise<void> {
  const { stack } = shared();
  const { client } = stack.temporal;
  const { connectionId, resourceKey } = await sync.run(runId);
  const workflowId = syncRunId({ connectionId, resourceKey, runId });
  const handle = client.workflow.getHandle(workflowId);
  if (how === 'terminated') await handle.terminate();
  else {
    const { namespace } = client.options;
    await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId } });
    await eventually('the workflow is gone', () =>
      handle.describe().then(
        () => false,
        () => true,
      ),
    );
  }
  // The sweeper looks at runs that were silent for half a minute: this one now was.
  await sql`update runs set progressed_at = now() - interval '1 minute', dispatched_at = now() - interval '1 minute'
    where id = ${runId}`.execute(stack.db);
}

async function inTurn<Value>(count: number, work: () => Promise<Value>): Promise<readonly Value[]> {
  const values: Value[] = [];
  for (let turn = 0; turn < count; turn += 1) values.push(await work());
  return values;
}

async function cancel(runId: string): Promise<void> {
  const { status } = await shared().stack.org.call('POST', `/runs/${runId}/cancel`);
  expect(status).toBe(202);
}

async function statusLog(runIds: readonly string[]): Promise<readonly string[]> {
  const { rows } = await sql<{ runId: string; status: string }>`
    select run_id, status from status_log where run_id = any(${[...runIds]}::text[]) order by n`.execute(
    shared().stack.db,
  );
  return rows.map(({ runId, status }) => `${runId} ${status}`);
}

async function errorCodeOf(runId: string): Promise<string | null> {
  const { db } = shared().stack;
  return (await db.selectFrom('runs').select('errorCode').where('id', '=', runId).executeTakeFirstOrThrow()).errorCode;
}
