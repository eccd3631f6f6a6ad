import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createScheduleActivities } from '../../activities/schedules.ts';
import { endRun } from '../../db/queries/runs/lanes/end-run.ts';
import { findScheduleState } from '../../db/queries/schedules.ts';
import { orgScope } from '../../db/scope.ts';
import { ageSchedules } from '../support/service/aged-rows.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { createActiveConnection, publishSpec } from '../support/upstream/api-fixtures.ts';
import { recordedEvents, typesOf } from '../support/webhooks/events.ts';

let api: TestApi;
let org: TestOrg;
beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
  await publishSpec(org);
});
afterAll(() => api[Symbol.asyncDispose]());

/** An active connection with a schedule, and its firings; no worker takes what they start. */
async function openSchedule() {
  const connectionId = await createActiveConnection(org);
  const post = async (body: object) => {
    const made = await org.call('POST', `/connections/${connectionId}/schedules`, { body });
    await ageSchedules(api, connectionId, '2025-12-31');
    return made;
  };
  const { body: schedule } = await post({ resourceKey: 'items', cron: '* * * * *' });
  const { enqueueScheduledRun } = createScheduleActivities(api.deps);
  return {
    connectionId,
    scheduleId: schedule.id as string,
    fire: (minute: number, scheduleId: string = schedule.id) =>
      enqueueScheduledRun({ orgId: org.orgId, scheduleId }, new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString()),
    fireAt: (time: string) => enqueueScheduledRun({ orgId: org.orgId, scheduleId: schedule.id }, time),
    post,
    runs: async () => (await org.call('GET', `/runs?connectionId=${connectionId}`)).body,
  };
}

describe('a firing', () => {
  it('creates a run that waits for its turn, although Temporal is away', async () => {
    const { fire, runs, scheduleId } = await openSchedule();
    const { outcome, runId } = await fire(1);
    expect(outcome).toBe('started');
    expect(await runs()).toMatchObject([{ id: runId, trigger: 'schedule', status: 'queued', resourceKey: 'items' }]);
    const row = api.deps.db.selectFrom('runs').select(['scheduleId', 'scheduledFor', 'dispatchedAt']);
    expect(await row.where('id', '=', runId).executeTakeFirst()).toEqual({
      scheduleId,
      scheduledFor: '2026-01-01T00:01:00.000Z',
      dispatchedAt: null,
    });
  });

  it('that is tried again finds the run it has created, even when the schedule is off by then', async () => {
    const { fire, runs, scheduleId } = await openSchedule();
    const first = await fire(1);
    await org.call('PATCH', `/schedules/${scheduleId}`, { body: { enabled: false } });
    expect(await fire(1)).toEqual(first);
    expect(await runs()).toHaveLength(1);
  });

  it('that is tried twice at once has one run, which both attempts find', async () => {
    const { fire, runs } = await openSchedule();
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => fire(1)));
    expect(await runs()).toHaveLength(1);
    expect(new Set(outcomes.map(({ outcome, runId }) => `${outcome} ${runId}`)).size).toBe(1);
  });

  it('creates no second waiting run, also when two schedules of a resource fire at once', async () => {
    const { fire, runs, post } = await openSchedule();
    const { body: other } = await post({ resourceKey: 'items', cron: '*/2 * * * *' });
    const outcomes = await Promise.all([fire(2), fire(2, other.id), fire(3), fire(4, other.id)]);
    expect(outcomes.map(({ outcome }) => outcome).toSorted()).toEqual([
      'skipped: a run of the resource is already queued',
      'skipped: a run of the resource is already queued',
      'skipped: a run of the resource is already queued',
      'started',
    ]);
    expect(await runs()).toHaveLength(1);
  });

  it('creates its run although a backfill waits: that one reads what is old', async () => {
    const { fire, connectionId } = await openSchedule();
    await org.call('POST', `/connections/${connectionId}/backfill`, { body: { resource: 'items' } });
    expect((await fire(1)).outcome).toBe('started');
  });
});

describe('a firing of what shall not fire creates no run and says why:', () => {
  it('the schedule is disabled', async () => {
    const { fire, runs, scheduleId } = await openSchedule();
    await org.call('PATCH', `/schedules/${scheduleId}`, { body: { enabled: false } });
    expect(await fire(1)).toEqual({ outcome: 'skipped: schedule disabled', runId: null });
    expect(await runs()).toEqual([]);
  });

  it.each([
    ['a time between two firings', '2026-01-01T00:01:30.000Z', 'the schedule does not fire at this time'],
    ['a part of a second', '2026-01-01T00:01:00.001Z', 'the schedule does not fire at this time'],
    ['a time to come', '2031-01-01T00:00:00.000Z', 'the firing is not due yet'],
    ['a time before the schedule was made', '2025-06-01T00:00:00.000Z', 'the schedule was made after this time'],
  ])('the schedule has not planned %s, which the log says and no event', async (_what, time, reason) => {
    const { fireAt, runs, scheduleId, connectionId } = await openSchedule();
    expect(await fireAt(time)).toEqual({ outcome: `skipped: ${reason}`, runId: null });
    const lines = api.logLines.map((line) => JSON.parse(line)).filter((line) => line.scheduleId === scheduleId);
    const told = { level: 'warn', message: expect.stringContaining('firing refused'), scheduledFor: time, reason };
    expect(lines).toContainEqual(expect.objectContaining({ ...told, orgId: org.orgId }));
    expect(await runs()).toEqual([]);
    const events = await recordedEvents(api.deps.db, { orgId: org.orgId, connectionId });
    expect(typesOf(events)).not.toContain('schedule.skipped');
  });

  it('the schedule is deleted', async () => {
    const { fire, scheduleId } = await openSchedule();
    await org.call('DELETE', `/schedules/${scheduleId}`);
    expect((await fire(1)).outcome).toBe('skipped: schedule deleted');
  });

  it('the connection is paused', async () => {
    const { fire, connectionId } = await openSchedule();
    await org.call('POST', `/connections/${connectionId}/pause`);
    expect((await fire(1)).outcome).toBe('skipped: connection paused');
  });

  it('the connection is in error, of which Temporal is notified as of a pause', async () => {
    const { fire, scheduleId } = await openSchedule();
    const { runId } = await fire(1);
    const scope = orgScope(org.orgId);
    const error = { code: 'auth_failed', message: 'refused' };
    const end = { runId: runId ?? '', outcome: { status: 'failed', error }, breaksConnection: true } as const;
    await endRun(api.deps.db, scope, end);
    expect((await fire(2)).outcome).toBe('skipped: connection error');
    expect((await findScheduleState(api.deps.db, scope, scheduleId))?.version).toBe(2);
  });

  it('the spec no longer has the resource', async () => {
    const { fire, scheduleId } = await openSchedule();
    await api.deps.db.updateTable('schedules').set({ resourceKey: 'gone' }).where('id', '=', scheduleId).execute();
    expect((await fire(1)).outcome).toBe('skipped: The spec has no such resource; its resources are items');
  });

  it('the effective spec is invalid', async () => {
    const { fire, connectionId } = await openSchedule();
    const overrides = { specOverridesJson: '{"metadata":{}}' };
    await api.deps.db.updateTable('connections').set(overrides).where('id', '=', connectionId).execute();
    expect((await fire(1)).outcome).toMatch(/^skipped: The effective spec is invalid/);
  });
});
