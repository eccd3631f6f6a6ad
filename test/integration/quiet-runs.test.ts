/** Runs that find nothing new: what they cost, and that nothing is lost for it. */
import type { WorkflowExecutionDescription } from '@temporalio/client';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { findRunSlices } from '../../db/queries/runs/run-activity.ts';
import { orgScope } from '../../db/scope.ts';
import type { RunRow } from '../../src/core/resources/run.ts';
import { scheduledRunType, syncRunType } from '../../workflows/contract.ts';
import { openAuditedDestination } from '../support/destinations/audit.ts';
import { eventually } from '../support/service/eventually.ts';
import { useStack } from '../support/service/use-stack.ts';
import { createSync, type Sync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

const records = 10;
const collections = [
  'manual',
  'scheduled',
  'asleep',
  'wakes',
  'moved',
  'hanging',
  'slow',
  'killed',
  'stopped',
  'unlisted',
];
const shared = useStack({
  collections: Object.fromEntries(collections.map((name) => [name, generateRecords(records)])),
});

const call: ReturnType<typeof shared>['stack']['org']['call'] = (...args) => shared().stack.org.call(...args);

/** A sync whose lane was read in a moment and left in order. */
async function quietSync(collection: string): Promise<Sync> {
  const { stack, upstream } = shared();
  const sync = await createSync(stack, { upstream, collection });
  // The first run opens the destination; a busy machine may take long for it.
  await eventually('a run is quick', async () => {
    await sync.ended(await sync.request());
    const lane = stack.db
      .selectFrom('lanes')
      .select(['quick', 'recordedWith'])
      .where('connectionId', '=', sync.connectionId);
    const { quick, recordedWith } = await lane.executeTakeFirstOrThrow();
    return quick && recordedWith !== null;
  });
  return sync;
}

/** The workflow of a run, found as operators find it, once it has closed. */
const workflowOf = ({ id }: Pick<RunRow, 'id'>): Promise<WorkflowExecutionDescription> =>
  eventually(`the workflow of ${id} closes`, async () => {
    const { client } = shared().stack.temporal;
    const query = `CssRunId = '${id}' AND ExecutionStatus = 'Completed'`;
    for await (const { workflowId } of client.workflow.list({ query })) {
      return await client.workflow.getHandle(workflowId).describe();
    }
    return null;
  });

/** The kinds of events of a workflow, in order. */
async function eventsOf({ workflowId }: WorkflowExecutionDescription): Promise<readonly string[]> {
  const { events } = await shared().stack.temporal.client.workflow.getHandle(workflowId).fetchHistory();
  return (events ?? []).map(
    (event) =>
      Object.keys(event)
        .find((key) => key.endsWith('EventAttributes'))
        ?.replace('EventAttributes', '') ?? '',
  );
}

const firstStep = [
  'workflowExecutionStarted',
  'workflowTaskScheduled',
  'workflowTaskStarted',
  'workflowTaskCompleted',
  'markerRecorded',
];

/**
 * Resolves when the first step that is in progress requests no further page, which is after a second: with each heartbeat,
 * one a second, it asks whether its run is canceled.
 */
async function outOfTime(): Promise<void> {
  const { db } = shared().stack;
  const { rows } = await sql<{ at: string }>`select clock_timestamp() + interval '1 second' as at`.execute(db);
  const asks = 'select "cancel_requested_at" from "runs" where%';
  const beat = sql`select from pg_stat_activity where query like ${asks} and query_start > ${rows[0]?.at}`;
  await eventually('the first step looks for a cancel', async () => (await beat.execute(db)).rows.length > 0);
}

/** How often anybody has logged in at the destination. */
async function logins({ destination }: Sync): Promise<number> {
  const [row] = await destination.query<{ sessions: string }>(
    'select sessions from pg_stat_database where datname = current_database()',
  );
  return Number(row?.sessions);
}

describe('a run that finds nothing new', () => {
  test('is one task of its workflow when somebody requests it', async () => {
    await using sync = await quietSync('manual');
    const run = await sync.ended(await sync.request());
    // The last record is read again: the watermark is its own.
    expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 1, recordsOut: 0 } });
    const workflow = await workflowOf(run);
    expect(workflow).toMatchObject({ type: syncRunType });
    expect(await eventsOf(workflow)).toEqual([...firstStep, 'workflowExecutionCompleted']);
  });

  test('is the firing itself when a schedule creates it, and is found by its run', async () => {
    await using sync = await quietSync('scheduled');
    const schedules = `/connections/${sync.connectionId}/schedules`;
    const body = { resourceKey: 'scheduled', cron: '* * * * * *' };
    const { body: schedule } = await call('POST', schedules, { body });
    const run = await eventually('a firing has created a run that has ended', async () => {
      const { body: runs } = await call('GET', `/runs?connectionId=${sync.connectionId}&trigger=schedule`);
      return (runs as readonly RunRow[]).find(({ status }) => status === 'succeeded') ?? null;
    });
    await call('DELETE', `/schedules/${schedule.id}`);
    const workflow = await workflowOf(run);
    expect(workflow).toMatchObject({ type: scheduledRunType });
    expect(workflow.workflowId).toMatch(`sync:${sync.connectionId}:scheduled:${schedule.id}-`);
    const ending = ['upsertWorkflowSearchAttributes', 'workflowExecutionCompleted'];
    expect(await eventsOf(workflow)).toEqual([...firstStep, ...ending]);
  });

  test('has no ledger, and the page of the run still shows what it read', async () => {
    await using sync = await quietSync('unlisted');
    const { id, startedAt: from, finishedAt: to } = await sync.ended(await sync.request());
    if (from === null || to === null) throw new Error(`${id} has begun and ended`);
    const { db, org } = shared().stack;
    expect(await db.selectFrom('runPages').select('pageNo').where('runId', '=', id).execute()).toEqual([]);
    const recorded = await findRunSlices(db, orgScope(org.orgId), { id, from, to, slices: 2 });
    expect(recorded).toEqual([{ slice: 2, pages: 1, recordsIn: 1, recordsOut: 0 }]);
  });

  test('leaves the destination alone, however many there are', async () => {
    await using sync = await quietSync('asleep');
    const before = await logins(sync);
    for (let run = 0; run < 5; run += 1) await sync.ended(await sync.request());
    expect(await logins(sync)).toBe(before);
  });

  test('is followed by one that opens the destination for what has changed', async () => {
    await using sync = await quietSync('wakes');
    shared()
      .upstream.store('wakes')
      .put(...generateRecords(records + 1).slice(records));
    const before = await logins(sync);
    expect(await sync.ended(await sync.request())).toMatchObject({ statsJson: { recordsOut: 1 } });
    const after = await logins(sync);
    expect(after).toBeGreaterThan(before);
    expect(await sync.destination.count('wakes')).toBe(records + 1);
    const counted = await logins(sync);
    await sync.ended(await sync.request());
    expect(await logins(sync)).toBe(counted);
  });

  test('asks the destination first when the connection delivers elsewhere from now on', async () => {
    await using sync = await quietSync('moved');
    const { connectionId } = sync;
    await using other = await openAuditedDestination();
    const secrets = { destination: other.secret };
    expect(await call('PATCH', `/connections/${connectionId}`, { body: { secrets } })).toMatchObject({ status: 200 });
    expect(await sync.ended(await sync.request())).toMatchObject({ statsJson: { recordsOut: records } });
    expect(await other.count('moved')).toBe(records);
  });
});

describe('the first step of a run', () => {
  test('ends within two seconds of a cancel, though the API does not respond', async () => {
    await using sync = await quietSync('hanging');
    const { upstream } = shared();
    upstream.pause();
    const asked = upstream.requested(upstream.journal.length + 1);
    const runId = await sync.request();
    await asked;
    const from = performance.now();
    await call('POST', `/runs/${runId}/cancel`);
    expect((await sync.ended(runId)).status).toBe('canceled');
    const took = performance.now() - from;
    upstream.resume();
    // Two seconds are promised; the rest is for a busy machine.
    expect(took).toBeLessThan(5000);
  });

  test('waits for a slow page, so that it is requested once', async () => {
    await using sync = await quietSync('slow');
    const { upstream } = shared();
    const before = sync.fetches();
    upstream.pause();
    const asked = upstream.requested(upstream.journal.length + 1);
    const runId = await sync.request();
    await asked;
    await outOfTime();
    upstream.resume();
    expect((await sync.ended(runId)).status).toBe('succeeded');
    expect(sync.fetches()).toBe(before + 1);
  });

  test('goes on as an activity when the API takes long', async () => {
    await using sync = await quietSync('stopped');
    const { upstream, stack } = shared();
    upstream.pause();
    const runId = await sync.request();
    const { client } = stack.temporal;
    const handle = client.workflow.getHandle(`sync:${sync.connectionId}:stopped:${runId}`);
    await eventually('an activity has taken over', async () => {
      const { pendingActivities } = (await handle.describe()).raw;
      return (pendingActivities?.length ?? 0) > 0;
    });
    upstream.resume();
    expect((await sync.ended(runId)).status).toBe('succeeded');
  });

  test('that dies with its worker is done again, and delivers what is new once', async () => {
    await using sync = await quietSync('killed');
    const { upstream, stack } = shared();
    await sync.destination.audit('killed');
    upstream.store('killed').put(...generateRecords(records + 5).slice(records));
    upstream.pause();
    const asked = upstream.requested(upstream.journal.length + 1);
    const runId = await sync.request();
    await asked;
    await stack.killWorker('SIGKILL');
    await stack.startWorker();
    upstream.resume();
    expect(await sync.ended(runId)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 5 } });
    expect(await sync.destination.writes()).toMatchObject({ inserts: 5, updates: 0 });
  });
});
