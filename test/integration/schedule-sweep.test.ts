import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findPurgeableConnections } from '../../db/queries/connections/purge.ts';
import type { ApplyDeps } from '../../src/control/schedules/apply.ts';
import { newId } from '../../src/core/ids.ts';
import { applyMissedSchedules, compareSchedules } from '../../src/maintenance/schedule-sweep.ts';
import { createOrchestrator } from '../../src/temporal/orchestrator.ts';
import { temporalScheduleId } from '../../workflows/contract.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { eventually } from '../support/service/eventually.ts';
import { startTemporalDevServer, type TemporalDevServer } from '../support/service/temporal-dev-server.ts';
import { createConnection, publishSpec } from '../support/upstream/api-fixtures.ts';

const resources = new AsyncDisposableStack();
let api: TestApi;
let org: TestOrg;
let temporal: TemporalDevServer;

beforeAll(async () => {
  api = resources.use(await startApi());
  org = await api.newOrg();
  await publishSpec(org);
  temporal = await startTemporal();
});
afterAll(() => resources.disposeAsync());

async function startTemporal(): Promise<TemporalDevServer> {
  const folder = await mkdtemp(join(tmpdir(), 'connector-sync-sweep-'));
  resources.defer(() => rm(folder, { recursive: true }));
  return resources.use(await startTemporalDevServer(folder));
}

/** The service with this Temporal server; the API of the test has none. */
const withTemporal = ({ client }: TemporalDevServer): ApplyDeps => ({
  ...api.deps,
  orchestrator: createOrchestrator(client, api.deps.log),
});

/** What the sweeper does in one round, once requests have had their time. */
async function sweep(deps: ApplyDeps): Promise<void> {
  await deps.db
    .updateTable('schedules')
    .set({ applyAt: new Date(0).toISOString() })
    .execute();
  await applyMissedSchedules(deps);
}

const describeIn = (server: TemporalDevServer, id: string) =>
  server.client.schedule.getHandle(temporalScheduleId(id)).describe();
const stateIn = async (server: TemporalDevServer, id: string) => (await describeIn(server, id)).state;
const idsIn = async (server: TemporalDevServer) =>
  (await withTemporal(server).orchestrator.listSchedules()).map(({ scheduleId }) => scheduleId);

async function openSchedule({ activate = true } = {}) {
  const connectionId = await createConnection(org);
  if (activate) await org.call('POST', `/connections/${connectionId}/activate`);
  const body = { resourceKey: 'items', cron: '0 6 * * *', timezone: 'europe/berlin' };
  const { body: schedule } = await org.call('POST', `/connections/${connectionId}/schedules`, { body });
  return { connectionId, id: schedule.id as string };
}

describe('what no request could tell Temporal', () => {
  it('is applied to Temporal later: times, policies, ids and texts for the operator', async () => {
    const { connectionId, id } = await openSchedule();
    await sweep(withTemporal(temporal));
    const { spec, policies, state, memo, action, typedSearchAttributes } = await describeIn(temporal, id);
    expect(spec).toMatchObject({ timezone: 'Europe/Berlin', jitter: 60_000 });
    expect(policies).toEqual({ overlap: 'ALLOW_ALL', catchupWindow: 86_400_000, pauseOnFailure: false });
    expect(state).toMatchObject({ paused: false, note: 'enabled' });
    expect(memo).toEqual({ connectionId, resourceKey: 'items', cron: '0 6 * * *' });
    expect(action).toMatchObject({
      workflowType: 'scheduledRun',
      taskQueue: 'css-control',
      args: [{ orgId: org.orgId, connectionId, resourceKey: 'items', scheduleId: id }],
      staticSummary: `sync items of ${connectionId} (schedule)`,
    });
    const attributes = typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]);
    expect(Object.fromEntries(attributes)).toMatchObject({
      CssOrgId: org.orgId,
      CssConnectionId: connectionId,
      CssResourceKey: 'items',
    });
  });

  it('says why it pauses', async () => {
    const { connectionId, id } = await openSchedule({ activate: false });
    const deps = withTemporal(temporal);
    const noteAfter = async (method: string, path: string, body?: unknown) => {
      expect((await org.call(method, path, { body })).status).toBe(200);
      await sweep(deps);
      const { paused, note } = await stateIn(temporal, id);
      return { paused, note };
    };
    await sweep(deps);
    expect(await stateIn(temporal, id)).toMatchObject({ paused: true, note: 'connection pending' });
    const connection = `/connections/${connectionId}`;
    expect(await noteAfter('POST', `${connection}/activate`)).toEqual({ paused: false, note: 'enabled' });
    expect(await noteAfter('POST', `${connection}/pause`)).toEqual({ paused: true, note: 'connection paused' });
    const off = { paused: true, note: 'schedule disabled' };
    expect(await noteAfter('PATCH', `/schedules/${id}`, { enabled: false })).toEqual(off);
  });

  it('is deleted there once it is deleted here, and deleting it again does no harm', async () => {
    const { id } = await openSchedule();
    const deps = withTemporal(temporal);
    await sweep(deps);
    await org.call('DELETE', `/schedules/${id}`);
    await sweep(deps);
    await expect(describeIn(temporal, id)).rejects.toMatchObject({ name: 'ScheduleNotFoundError' });
    await deps.orchestrator.dropSchedule(id);
  });

  it('waits until a deleted connection may be purged', async () => {
    const { connectionId, id } = await openSchedule();
    await sweep(withTemporal(temporal));
    await org.call('DELETE', `/connections/${connectionId}`);
    const purgeable = async () => {
      const found = await findPurgeableConnections(api.deps.db, { olderThanMs: 0, limit: 100 });
      return found.map((connection) => connection.id);
    };
    expect(await purgeable()).not.toContain(connectionId);
    await sweep(withTemporal(temporal));
    expect(await purgeable()).toContain(connectionId);
    await expect(describeIn(temporal, id)).rejects.toMatchObject({ name: 'ScheduleNotFoundError' });
  });

  it('does not keep others from their turn when Temporal refuses it', async () => {
    const [broken, sound] = [await openSchedule(), await openSchedule()];
    await api.deps.db.updateTable('schedules').set({ cron: 'broken' }).where('id', '=', broken.id).execute();
    await sweep(withTemporal(temporal));
    expect((await stateIn(temporal, sound.id)).paused).toBe(false);
    const { appliedVersion, applyAt } = await api.deps.db
      .selectFrom('schedules')
      .select(['appliedVersion', 'applyAt'])
      .where('id', '=', broken.id)
      .executeTakeFirstOrThrow();
    expect(appliedVersion).toBe(0);
    expect(Date.parse(applyAt)).toBeGreaterThan(Date.now());
    await org.call('DELETE', `/schedules/${broken.id}`);
  });
});

describe('the comparison', () => {
  it('deletes what has no row, and leaves alone what is not ours', async () => {
    const deps = withTemporal(temporal);
    const orphan = newId('sched');
    const order = { orgId: org.orgId, connectionId: newId('con'), resourceKey: 'items', timezone: 'UTC' };
    await deps.orchestrator.putSchedule({ ...order, id: orphan, cron: '0 0 * * *', pausedBecause: null });
    const action = { type: 'startWorkflow', workflowType: 'x', taskQueue: 'y' } as const;
    await temporal.client.schedule.create({ scheduleId: 'theirs', spec: {}, action });
    await eventually('Temporal lists it', async () => (await idsIn(temporal)).includes(orphan));
    await compareSchedules(deps);
    await expect(describeIn(temporal, orphan)).rejects.toMatchObject({ name: 'ScheduleNotFoundError' });
    expect((await temporal.client.schedule.getHandle('theirs').describe()).scheduleId).toBe('theirs');
  });

  it('takes back what was changed by hand', async () => {
    const deps = withTemporal(temporal);
    const { id } = await openSchedule();
    await sweep(deps);
    await temporal.client.schedule.getHandle(temporalScheduleId(id)).pause('by hand');
    const listed = async () => (await deps.orchestrator.listSchedules()).find(({ scheduleId }) => scheduleId === id);
    await eventually('Temporal lists it as paused', async () => (await listed())?.paused);
    await compareSchedules(deps);
    await sweep(deps);
    expect(await stateIn(temporal, id)).toMatchObject({ paused: false, note: 'enabled' });
  });

  it('builds everything anew when the namespace is lost', async () => {
    const [firing, off] = [await openSchedule(), await openSchedule()];
    await org.call('PATCH', `/schedules/${off.id}`, { body: { enabled: false } });
    await sweep(withTemporal(temporal));
    expect((await stateIn(temporal, firing.id)).paused).toBe(false);
    const live = await api.deps.db.selectFrom('schedules').select('id').where('deletedAt', 'is', null).execute();
    const expected = live.map(({ id }) => id).toSorted();

    const fresh = await startTemporal();
    const deps = withTemporal(fresh);
    await applyMissedSchedules(deps);
    expect(await idsIn(fresh)).toEqual([]);
    await compareSchedules(deps);
    await sweep(deps);

    expect(await stateIn(fresh, firing.id)).toMatchObject({ paused: false });
    expect(await stateIn(fresh, off.id)).toMatchObject({ paused: true, note: 'schedule disabled' });
    await eventually('all of them', async () => String((await idsIn(fresh)).toSorted()) === String(expected));
  });
});
