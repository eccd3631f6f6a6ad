import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import type { RunRow } from '../../src/core/resources/run.ts';
import type { ScheduleRow } from '../../src/core/resources/schedule.ts';
import { type FiringOutcome, temporalScheduleId } from '../../workflows/contract.ts';
import { eventually } from '../support/service/eventually.ts';
import { useStack } from '../support/service/use-stack.ts';
import { createSync, type Sync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

const records = 300;
const everySecond = '* * * * * *';
const collections = ['coalesced', 'paused', 'forbidden', 'deleted', 'outage'];
const shared = useStack({
  collections: Object.fromEntries(collections.map((name) => [name, generateRecords(records)])),
});

// A test that failed in the outage must not fail the next one.
afterEach(() => shared().stack.temporal.start());

const syncOf = (collection: string): Promise<Sync> =>
  createSync(shared().stack, { upstream: shared().upstream, collection });
const call = (...request: Parameters<ReturnType<typeof shared>['stack']['org']['call']>) =>
  shared().stack.org.call(...request);

async function schedule({ connectionId }: Sync, resourceKey: string, cron = everySecond): Promise<ScheduleRow> {
  const { status, body } = await call('POST', `/connections/${connectionId}/schedules`, {
    body: { resourceKey, cron },
  });
  expect(status).toBe(201);
  return body;
}

/** Oldest first. */
const runsOf = async ({ connectionId }: Sync): Promise<readonly RunRow[]> =>
  (await call('GET', `/runs?connectionId=${connectionId}`)).body.toReversed();

const inTemporal = (id: string) => shared().stack.temporal.client.schedule.getHandle(temporalScheduleId(id));

/** The outcome of a schedule's firings so far, as the Temporal UI shows it. */
async function outcomesOf(id: string): Promise<readonly FiringOutcome[]> {
  const { client } = shared().stack.temporal;
  const outcomes: FiringOutcome[] = [];
  const query = `TemporalScheduledById = '${temporalScheduleId(id)}' AND ExecutionStatus = 'Completed'`;
  for await (const { workflowId } of client.workflow.list({ query })) {
    outcomes.push(await client.workflow.getHandle(workflowId).result());
  }
  return outcomes;
}

const fired = (id: string, outcome: string) =>
  eventually(`a firing says: ${outcome}`, async () =>
    (await outcomesOf(id)).some((firing) => firing.outcome === outcome),
  );

describe('a schedule of every second', () => {
  test('syncs, and while a run waits already creates no other', async () => {
    const { upstream } = shared();
    await using sync = await syncOf('coalesced');
    upstream.pause();
    const { id } = await schedule(sync, 'coalesced');
    await fired(id, 'skipped: a run of the resource is already queued');
    expect(await runsOf(sync)).toMatchObject([
      { trigger: 'schedule', status: 'running' },
      { trigger: 'schedule', status: 'queued' },
    ]);
    await call('DELETE', `/schedules/${id}`);
    upstream.resume();
    await eventually('both have ended', async () => (await runsOf(sync)).every((run) => run.finishedAt !== null));
    const ended = (await runsOf(sync)).map(({ status, statsJson }) => [status, statsJson.recordsOut]);
    expect(ended).toEqual([
      ['succeeded', records],
      ['succeeded', 0],
    ]);
    const runIds = (await runsOf(sync)).map((run) => run.id).toSorted();
    // The row of a run is final a moment before its workflow closes.
    const executed = async () => (await outcomesOf(id)).flatMap(({ runId }) => runId ?? []).toSorted();
    await eventually('firings executed both', async () => String(await executed()) === String(runIds));
  });

  test('stops while its connection is paused, and makes up for nothing when it is active again', async () => {
    await using sync = await syncOf('paused');
    const { id } = await schedule(sync, 'paused');
    await eventually('it fires', async () => (await runsOf(sync)).length > 0);

    await call('POST', `/connections/${sync.connectionId}/pause`);
    const pausedAt = new Date();
    expect((await inTemporal(id).describe()).state).toMatchObject({ paused: true, note: 'connection paused' });
    // That nothing fires is what is tested, and no event reports it. `meanwhile` leaves out the last second, and the
    // second before that has a firing.
    await sleep(2000);
    const activatedAt = new Date();
    await call('POST', `/connections/${sync.connectionId}/activate`);

    expect((await inTemporal(id).describe()).state.paused).toBe(false);
    const { db } = shared().stack;
    const made = db.selectFrom('runs').select('id').where('scheduleId', '=', id);
    const since = (from: Date) => made.where('scheduledFor', '>', from.toISOString());
    await eventually('it fires again', async () => (await since(activatedAt).execute()).length > 0);
    const meanwhile = since(pausedAt).where('scheduledFor', '<', new Date(activatedAt.getTime() - 1000).toISOString());
    expect(await meanwhile.execute()).toEqual([]);
    await call('DELETE', `/schedules/${id}`);
  });

  test('that Temporal still has starts nothing that the database forbids', async () => {
    await using sync = await syncOf('forbidden');
    const { db } = shared().stack;
    await db.updateTable('connections').set({ status: 'paused' }).where('id', '=', sync.connectionId).execute();
    const { id } = await schedule(sync, 'forbidden');
    await inTemporal(id).unpause();
    await fired(id, 'skipped: connection paused');
    await db.updateTable('connections').set({ status: 'active' }).where('id', '=', sync.connectionId).execute();
    await db.updateTable('schedules').set({ enabled: false }).where('id', '=', id).execute();
    await fired(id, 'skipped: schedule disabled');
    expect(await runsOf(sync)).toEqual([]);
    await call('DELETE', `/schedules/${id}`);
  });

  test('goes with its connection', async () => {
    await using sync = await syncOf('deleted');
    const { id } = await schedule(sync, 'deleted');
    await eventually('it fires', async () => (await runsOf(sync)).length > 0);
    await call('DELETE', `/connections/${sync.connectionId}`);
    await expect(inTemporal(id).describe()).rejects.toMatchObject({ name: 'ScheduleNotFoundError' });
    const rows = shared().stack.db.selectFrom('schedules').select('id').where('id', '=', id);
    await eventually('the sweeper has removed its row', async () => (await rows.execute()).length === 0);
  });
});

test('with Temporal down a schedule is accepted within 2 s and fires when Temporal is back', async () => {
  const { stack } = shared();
  await using sync = await syncOf('outage');
  await stack.temporal.stop();
  const startMs = performance.now();
  const { id } = await schedule(sync, 'outage');
  expect(performance.now() - startMs).toBeLessThan(2000);
  await stack.temporal.start();
  const ended = await eventually('a run of it ends', async () => (await runsOf(sync)).find((run) => run.finishedAt));
  expect(ended).toMatchObject({ trigger: 'schedule', status: 'succeeded', statsJson: { recordsOut: records } });
  await call('DELETE', `/schedules/${id}`);
});
