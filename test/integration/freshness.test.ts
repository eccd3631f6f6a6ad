import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findLastFailures } from '../../db/queries/runs/last-failures.ts';
import { orgScope } from '../../db/scope.ts';
import type { RunStatus } from '../../src/core/resources/run.ts';
import { noteOverdueFlips } from '../../src/maintenance/overdue-sweep.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { endRunAs } from '../support/service/ended-run.ts';
import { createActiveConnection, publishSpec } from '../support/upstream/api-fixtures.ts';

let api: TestApi;
let org: TestOrg;
let connectionId: string;

beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
  await publishSpec(org);
});
afterAll(() => api[Symbol.asyncDispose]());
beforeEach(async () => {
  connectionId = await createActiveConnection(org);
});

const freshness = async () => (await org.call('GET', `/connections/${connectionId}/freshness`)).body;
const health = async () => (await freshness()).freshness.health;
const startRun = async (): Promise<string> =>
  (await org.call('POST', `/connections/${connectionId}/sync`, { body: { resource: 'items' } })).body.id;
/** A run that has ended so long ago. */
async function run(status: RunStatus, endedSecondsAgo = 0): Promise<string> {
  const id = await startRun();
  await endRunAs(api.deps.db, id, { status, endedSecondsAgo });
  return id;
}
/** A schedule that has fired for long. */
async function schedule(cron: string): Promise<string> {
  const id = await newSchedule(cron);
  await age(id);
  return id;
}

async function newSchedule(cron: string): Promise<string> {
  const body = { resourceKey: 'items', cron };
  return (await org.call('POST', `/connections/${connectionId}/schedules`, { body })).body.id;
}

const age = (id: string) =>
  api.deps.db
    .updateTable('schedules')
    .set({ createdAt: sql<string>`now() - interval '30 days'`, firesSince: null })
    .where('id', '=', id)
    .execute();

describe('a run that goes on', () => {
  it('fails the connection while its attempts fail, and is named, until it gets further', async () => {
    const id = await startRun();
    const attempts = (count: number) =>
      api.deps.db
        .updateTable('runs')
        .set({ status: 'running', attempts: count, errorCode: 'destination_unavailable' })
        .where('id', '=', id)
        .execute();
    await attempts(2);
    expect(await health()).toBe('failing');
    const failure = {
      connectionId,
      resourceKey: 'items',
      runId: id,
      errorCode: 'destination_unavailable',
      goesOn: true,
    };
    expect(await findLastFailures(api.deps.db, orgScope(org.orgId), [connectionId])).toEqual([failure]);
    await attempts(0);
    expect(await health()).toBe('syncing');
    expect(await findLastFailures(api.deps.db, orgScope(org.orgId), [connectionId])).toEqual([]);
  });
});

describe('GET /connections/:id/freshness', () => {
  it('has every field before the first run, null where there is nothing yet', async () => {
    expect(await freshness()).toEqual({
      connection: { id: connectionId, displayName: 'Acme of Example Ltd', status: 'active' },
      freshness: {
        health: 'pending',
        lastSuccessAt: null,
        ageSeconds: null,
        overdue: false,
        resources: [
          {
            resourceKey: 'items',
            health: 'pending',
            lastSuccessAt: null,
            lastRecords: null,
            lastRunAt: null,
            lastRunStatus: null,
            ageSeconds: null,
            expectedIntervalSeconds: null,
            overdue: false,
          },
        ],
      },
      recentRuns: [],
    });
  });

  it('follows the runs of the resource', async () => {
    const seen = [];
    const id = await startRun();
    seen.push(await health());
    await endRunAs(api.deps.db, id, { status: 'succeeded', recordsOut: 7 });
    seen.push(await health());
    await run('partial');
    seen.push(await health());
    await run('failed');
    seen.push(await health());
    await run('canceled');
    seen.push(await health());
    await run('succeeded');
    seen.push(await health());
    expect(seen).toEqual(['syncing', 'healthy', 'degraded', 'failing', 'failing', 'healthy']);
  });

  it('shows when and with what the last success ended, whatever came after it', async () => {
    const id = await startRun();
    await endRunAs(api.deps.db, id, { status: 'succeeded', endedSecondsAgo: 100, recordsOut: 7 });
    const { body: success } = await org.call('GET', `/runs/${id}`);
    const failed = await run('failed');
    const { body: failure } = await org.call('GET', `/runs/${failed}`);
    const view = await freshness();
    expect(view.freshness.resources).toMatchObject([
      {
        lastSuccessAt: success.finishedAt,
        lastRecords: 7,
        lastRunAt: failure.startedAt,
        lastRunStatus: 'failed',
      },
    ]);
    expect(view.freshness.ageSeconds).toBeGreaterThanOrEqual(100);
    expect(view.freshness.ageSeconds).toBeLessThan(160);
    expect(view.freshness.lastSuccessAt).toBe(success.finishedAt);
  });

  it('expects what the enabled schedules promise together', async () => {
    await run('succeeded', 7201);
    const expected = async () => {
      const { expectedIntervalSeconds, overdue } = (await freshness()).freshness.resources[0];
      return [expectedIntervalSeconds, overdue];
    };
    const seen = [await expected()];
    await schedule('0 9 * * 1-5');
    seen.push(await expected());
    const hourly = await schedule('0 * * * *');
    seen.push(await expected());
    await org.call('PATCH', `/schedules/${hourly}`, { body: { enabled: false } });
    seen.push(await expected());
    expect(seen).toEqual([
      [null, false],
      [3 * 86_400, false],
      [3600, true],
      [3 * 86_400, false],
    ]);
  });

  it('has up to ten runs, newest first, without their errors', async () => {
    for (let index = 0; index < 11; index += 1) await run('failed');
    const last = await run('succeeded');
    const { recentRuns } = await freshness();
    expect(recentRuns).toHaveLength(10);
    expect(recentRuns[0]).toEqual({
      id: last,
      status: 'succeeded',
      resourceKey: 'items',
      startedAt: expect.any(String),
      stats: { recordsIn: 0, recordsOut: 0, skipped: 0, deleted: 0, quarantined: 0 },
    });
  });

  it('knows the resources of the overrides', async () => {
    const [more, none] = [
      { key: 'more', primaryKey: 'id', request: { path: '/more' } },
      { key: 'items', $delete: true },
    ];
    const specOverridesJson = {
      resources: [{ ...more, response: { records: 'data' }, target: { table: 'more' } }, none],
    };
    const changed = await org.call('PATCH', `/connections/${connectionId}`, { body: { specOverridesJson } });
    expect(changed.status).toBe(200);
    const { freshness: overridden } = await freshness();
    expect(overridden.resources).toMatchObject([{ resourceKey: 'more', health: 'pending' }]);
  });
});

describe('a resource that becomes overdue', () => {
  /** Types and data of the events of the connection, in order. */
  async function events() {
    const rows = await api.deps.db
      .selectFrom('webhookEvents')
      .select('payload')
      .where('connectionId', '=', connectionId)
      .where('type', 'in', ['connection.overdue', 'connection.on_time'])
      .orderBy('sequence')
      .execute();
    return rows.map(({ payload }) => JSON.parse(payload.toString('utf8')));
  }
  const types = async () => (await events()).map(({ type }) => type);

  it('is reported by one event, and by another when it is fresh again', async () => {
    await schedule('* * * * *');
    const id = await run('succeeded', 100);
    await noteOverdueFlips(api.deps);
    expect(await types()).toEqual([]);
    await endRunAs(api.deps.db, id, { status: 'succeeded', endedSecondsAgo: 121 });
    await noteOverdueFlips(api.deps);
    await noteOverdueFlips(api.deps);
    expect(await types()).toEqual(['connection.overdue']);
    await run('succeeded');
    await noteOverdueFlips(api.deps);
    await noteOverdueFlips(api.deps);
    const [overdue, onTime] = await events();
    const { freshness: now } = await freshness();
    expect(overdue.data).toMatchObject({
      connection: { id: connectionId, status: 'active' },
      resourceKey: 'items',
      lastSuccessAt: expect.any(String),
      expectedIntervalSeconds: 60,
    });
    expect(overdue.data.ageSeconds).toBeGreaterThan(120);
    expect(onTime).toMatchObject({ type: 'connection.on_time', data: { lastSuccessAt: now.lastSuccessAt } });
    expect(await types()).toEqual(['connection.overdue', 'connection.on_time']);
  });

  it('is reported again when it becomes overdue again, even without a success in between', async () => {
    const id = await schedule('* * * * *');
    await run('succeeded', 1000);
    const toggle = (enabled: boolean) => org.call('PATCH', `/schedules/${id}`, { body: { enabled } });
    await noteOverdueFlips(api.deps);
    await toggle(false);
    await noteOverdueFlips(api.deps);
    await toggle(true);
    await noteOverdueFlips(api.deps);
    expect(await types()).toEqual(['connection.overdue', 'connection.on_time']);
    await age(id);
    await noteOverdueFlips(api.deps);
    expect(await types()).toEqual(['connection.overdue', 'connection.on_time', 'connection.overdue']);
    expect((await events())[1].data.expectedIntervalSeconds).toBeNull();
  });

  it('is not reported before a new schedule has had the time to fire', async () => {
    await run('succeeded', 1000);
    const id = await newSchedule('* * * * *');
    await noteOverdueFlips(api.deps);
    expect([await types(), (await freshness()).freshness.overdue]).toEqual([[], false]);
    await age(id);
    await org.call('POST', `/connections/${connectionId}/pause`);
    await org.call('POST', `/connections/${connectionId}/activate`);
    await noteOverdueFlips(api.deps);
    expect(await types()).toEqual([]);
    await age(id);
    await noteOverdueFlips(api.deps);
    expect([await types(), (await freshness()).freshness.overdue]).toEqual([['connection.overdue'], true]);
  });

  it('is reported once, whatever other schedules are made meanwhile', async () => {
    await schedule('* * * * *');
    await run('succeeded', 1000);
    await noteOverdueFlips(api.deps);
    await newSchedule('0 3 * * *');
    await noteOverdueFlips(api.deps);
    expect([await types(), (await freshness()).freshness.overdue]).toEqual([['connection.overdue'], true]);
  });

  it('is not reported for a paused connection', async () => {
    await schedule('* * * * *');
    await run('succeeded', 1000);
    await org.call('POST', `/connections/${connectionId}/pause`);
    await noteOverdueFlips(api.deps);
    expect(await types()).toEqual([]);
  });
});
