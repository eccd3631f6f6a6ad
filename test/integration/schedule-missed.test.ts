import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { orgScope } from '../../db/scope.ts';
import { applySchedule } from '../../src/control/schedules/apply.ts';
import { noteMissed } from '../../src/maintenance/missed-sweep.ts';
import { createOrchestrator } from '../../src/temporal/orchestrator.ts';
import { temporalScheduleId } from '../../workflows/contract.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { eventually } from '../support/service/eventually.ts';
import { startTemporalDevServer } from '../support/service/temporal-dev-server.ts';
import { createActiveConnection, publishSpec } from '../support/upstream/api-fixtures.ts';
import { recordedEvents } from '../support/webhooks/events.ts';

let api: TestApi;
let org: TestOrg;
beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
  await publishSpec(org);
});
afterAll(() => api[Symbol.asyncDispose]());

async function openSchedule() {
  const connectionId = await createActiveConnection(org);
  const body = { resourceKey: 'items', cron: '* * * * *' };
  const { body: schedule } = await org.call('POST', `/connections/${connectionId}/schedules`, { body });
  return {
    connectionId,
    schedule,
    missed: async () =>
      (await recordedEvents(api.deps.db, { orgId: org.orgId, connectionId })).filter(
        ({ type }) => type === 'schedule.skipped',
      ),
  };
}

/** A look an hour after the last one. */
async function look(countMissedFirings: (id: string) => Promise<number | null>): Promise<void> {
  await api.deps.db
    .updateTable('schedules')
    .set({ missedSeenAt: new Date(0).toISOString() })
    .execute();
  await noteMissed({ ...api.deps, orchestrator: { ...api.deps.orchestrator, countMissedFirings } });
}

it('firings that Temporal has dropped are reported once, even after the schedule was lost', async () => {
  const { schedule, missed } = await openSchedule();
  for (const count of [0, 3, 3, 5, null, 1, 1]) await look(async () => count);
  expect((await missed()).map(({ data }) => data)).toEqual([
    { schedule, scheduledFor: null, reason: 'catch_up_window', firings: 3 },
    { schedule, scheduledFor: null, reason: 'catch_up_window', firings: 2 },
    { schedule, scheduledFor: null, reason: 'catch_up_window', firings: 1 },
  ]);
});

it('a schedule is checked once an hour, and a deleted schedule never', async () => {
  const [kept, deleted] = [await openSchedule(), await openSchedule()];
  await org.call('DELETE', `/schedules/${deleted.schedule.id}`);
  const asked: string[] = [];
  const count = async (id: string) => {
    asked.push(id);
    return 0;
  };
  await look(count);
  await noteMissed({ ...api.deps, orchestrator: { ...api.deps.orchestrator, countMissedFirings: count } });
  expect(asked.filter((id) => id === kept.schedule.id || id === deleted.schedule.id)).toEqual([kept.schedule.id]);
});

it('an outage of Temporal that is longer than the catch-up window is reported', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'connector-sync-missed-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true }));
  const temporal = stack.use(await startTemporalDevServer(folder));
  const orchestrator = createOrchestrator(temporal.client, api.deps.log);
  const { schedule, missed } = await openSchedule();
  await applySchedule({ ...api.deps, orchestrator }, orgScope(org.orgId), schedule.id);
  // The shortest window that Temporal takes, and a firing each second.
  await temporal.client.schedule.getHandle(temporalScheduleId(schedule.id)).update((previous) => ({
    ...previous,
    spec: { intervals: [{ every: '1s' }] },
    policies: { ...previous.policies, catchupWindow: '10s' },
  }));
  expect(await orchestrator.countMissedFirings(schedule.id)).toBe(0);
  await temporal.stop();
  // No event reports time that passes without Temporal. The first firing that it misses is due within a second; when
  // Temporal starts, that firing is older than the window.
  await sleep(11_000);
  await temporal.start();
  await eventually('Temporal counts them', async () => ((await orchestrator.countMissedFirings(schedule.id)) ?? 0) > 0);
  await look((id) => orchestrator.countMissedFirings(id));
  expect((await missed()).map(({ data }) => data)).toMatchObject([
    { schedule, reason: 'catch_up_window', firings: expect.any(Number) },
  ]);
});
