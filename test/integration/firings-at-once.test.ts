/** Firings whose run begins in the transaction that creates it. */
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createRunOfFiring } from '../../activities/schedules.ts';
import { lockConnectionOfSchedule } from '../../db/queries/connections/connections.ts';
import { takeLane } from '../../db/queries/runs/attempts.ts';
import { findFiringFacts } from '../../db/queries/runs/firings.ts';
import { beginRun } from '../../db/queries/runs/lanes/begin-run.ts';
import { insertRun } from '../../db/queries/runs/runs.ts';
import { orgScope } from '../../db/scope.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { newRun, takeOptions } from '../support/service/receipts.ts';
import { createActiveConnection, publishSpec } from '../support/upstream/api-fixtures.ts';
import { createEndpoint } from '../support/webhooks/webhook-rows.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api[Symbol.asyncDispose]());

/** So little ahead that it is due, and no run has begun since. */
let due: string;
beforeEach(() => {
  due = new Date(Math.floor(Date.now() / 1000) * 1000 + 50_000).toISOString();
});

/** An org that may have so many runs under way. */
async function orgOf(runsAtOnce: number): Promise<TestOrg> {
  const org = await api.newOrg();
  await publishSpec(org);
  const limits = JSON.stringify({ runsAtOnce });
  await api.deps.db.updateTable('orgs').set({ limits }).where('id', '=', org.orgId).execute();
  return org;
}

/** A schedule of a connection whose last run was quick. */
async function quickSchedule(org: TestOrg) {
  const { db } = api.deps;
  const { orgId } = org;
  const scope = orgScope(orgId);
  const connectionId = await createActiveConnection(org);
  const body = { resourceKey: 'items', cron: '* * * * * *' };
  const { body: schedule } = await org.call('POST', `/connections/${connectionId}/schedules`, { body });
  const place = { connectionId, resourceKey: 'items' };
  await db
    .insertInto('lanes')
    .values({ orgId, ...place, quick: true })
    .execute();
  return {
    ...{ scope, connectionId, place, scheduleId: schedule.id as string },
    async fire(begins = true) {
      const created = await createRunOfFiring(api.deps, { orgId, scheduleId: schedule.id }, due, { begins });
      if (typeof created === 'string') throw new Error(created);
      return created;
    },
    row: (id: string) => db.selectFrom('runs').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
    async runOther(parts: Parameters<typeof newRun>[1] = {}) {
      const { id } = await insertRun(db, scope, newRun(connectionId, { concurrentMax: 9, ...parts }));
      expect((await beginRun(db, scope, id)).turn).toBe('running');
    },
  };
}

describe('the run of a firing', () => {
  it('begins with its row as a queued one begins, and is found by a repeat', async () => {
    const org = await orgOf(5);
    const [atOnce, later] = [await quickSchedule(org), await quickSchedule(org)];
    const begun = await atOnce.fire();
    expect(begun).toMatchObject({ trigger: 'schedule', hasBegun: true });
    const queued = await later.fire(false);
    expect(queued.hasBegun).toBe(false);
    expect((await beginRun(api.deps.db, later.scope, queued.id)).turn).toBe('running');
    const [row, expected] = [await atOnce.row(begun.id), await later.row(queued.id)];
    const { id, connectionId, laneId, seq, scheduleId } = row;
    const times = [row.createdAt, row.dispatchedAt, row.startedAt, row.progressedAt];
    expect(times.every((time) => time !== null)).toBe(true);
    const { createdAt, dispatchedAt, startedAt, progressedAt } = row;
    const own = { id, connectionId, laneId, seq, scheduleId, createdAt, dispatchedAt, startedAt, progressedAt };
    expect(row).toEqual({ ...expected, ...own });
    expect(await atOnce.fire()).toEqual({ ...begun, hasBegun: false });
    const attempt = await takeLane(api.deps.db, atOnce.scope, begun.id, takeOptions({ isFirst: true }));
    expect(attempt).toMatchObject({ attempts: 1, watermarkBefore: null });
  });

  it('begins only while its org has places, however many fire at once', async () => {
    const org = await orgOf(3);
    const schedules = await Promise.all(Array.from({ length: 8 }, () => quickSchedule(org)));
    const runs = await Promise.all(schedules.map(({ fire }) => fire()));
    expect(runs.filter(({ hasBegun }) => hasBegun)).toHaveLength(3);
  });

  it('is decided while nobody switches the schedule off or deletes it', async () => {
    const { scope, scheduleId } = await quickSchedule(await orgOf(5));
    const { db } = api.deps;
    await db.transaction().execute(async (tx) => {
      expect(await lockConnectionOfSchedule(tx, scope, scheduleId)).toMatchObject({ status: 'active' });
      expect(await findFiringFacts(tx, scope, { scheduleId, scheduledFor: due })).toMatchObject({ isDeleted: false });
      const change = sql`select from schedules where id = ${scheduleId} for no key update nowait`;
      await expect(change.execute(db)).rejects.toMatchObject({ code: '55P03' });
    });
  });

  it('is queued while another run of its lane is in progress', async () => {
    const { fire, runOther } = await quickSchedule(await orgOf(5));
    await runOther({ resourceKey: 'items' });
    expect(await fire()).toMatchObject({ hasBegun: false });
  });

  it('is queued behind another one of its lane', async () => {
    const { fire, scope, connectionId } = await quickSchedule(await orgOf(5));
    const backfill = { from: null, force: false };
    const parts = { resourceKey: 'items', trigger: 'backfill', backfill, concurrentMax: 9 } as const;
    await insertRun(api.deps.db, scope, newRun(connectionId, parts));
    expect(await fire()).toMatchObject({ hasBegun: false });
  });

  it('is queued while its API takes no more requests', async () => {
    const { fire, runOther } = await quickSchedule(await orgOf(50));
    for (let other = 0; other < 20; other += 1) await runOther({ resourceKey: `other${other}`, concurrentMax: 99 });
    expect(await fire()).toMatchObject({ hasBegun: false });
  });

  it('is queued where somebody is to be told that it begins', async () => {
    const org = await orgOf(5);
    const { fire } = await quickSchedule(org);
    await createEndpoint(org, { eventTypes: ['run.started'] });
    expect(await fire()).toMatchObject({ hasBegun: false });
  });
});
