/** A statement sees what was committed before it began, not what was committed while it waited for a lock. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lockConnectionOfSchedule } from '../../db/queries/connections/connections.ts';
import { takeLane } from '../../db/queries/runs/attempts.ts';
import { recordBatch } from '../../db/queries/runs/batches/batches.ts';
import { requestCancel } from '../../db/queries/runs/cancel.ts';
import { leaveToSweeper } from '../../db/queries/runs/dispatch.ts';
import { findFiringFacts } from '../../db/queries/runs/firings.ts';
import { beginRun } from '../../db/queries/runs/lanes/begin-run.ts';
import { conformLane, findMeanings, readFromStart } from '../../db/queries/runs/lanes/conform-lane.ts';
import { endRun } from '../../db/queries/runs/lanes/end-run.ts';
import { forgetLane } from '../../db/queries/runs/lanes/forget-lane.ts';
import { findRecordStates } from '../../db/queries/runs/records/record-state.ts';
import { requeueOne } from '../../db/queries/runs/records/requeue.ts';
import { findRun, findWaitingRun, insertRun } from '../../db/queries/runs/runs.ts';
import { claimDue } from '../../db/queries/webhooks/queue.ts';
import { recordAttempts } from '../../db/queries/webhooks/record-attempts.ts';
import { type OrgScope, orgScope } from '../../db/scope.ts';
import { newId } from '../../src/core/ids.ts';
import { runStart } from '../../src/core/model/run-position.ts';
import { ofOtherAccount } from '../../src/core/spec/connection/meaning.ts';
import { startApi, type TestApi } from '../support/service/api.ts';
import { newRun, quarantineEntry, receiptOf, takeOptions, watermark } from '../support/service/receipts.ts';
import { blockedBy, type HeldWrite, holdRows, holdWrites } from '../support/service/sql-gate.ts';
import { laneRuns } from '../support/sync/lane-runs.ts';
import { createActiveConnection, publishSpec } from '../support/upstream/api-fixtures.ts';
import { createEndpoint, happen, messagesOf } from '../support/webhooks/webhook-rows.ts';

let api: TestApi;
let db: TestApi['deps']['db'];
beforeAll(async () => {
  api = await startApi();
  db = api.deps.db;
});
afterAll(() => api[Symbol.asyncDispose]());

const { connection, twoRuns, attempt } = laneRuns(() => db);

/** The result of `late`, which begins while `first` has written what is held, and which waits for its commit. */
async function whileCommitting<First, Late>(
  held: HeldWrite,
  first: () => Promise<First>,
  late: () => Promise<Late>,
): Promise<Late> {
  await using gate = await holdWrites(api.databaseUrl, held);
  const writing = first();
  const holder = await gate.reached();
  const waiting = late();
  await blockedBy(api.databaseUrl, holder);
  await gate.open();
  await writing;
  return await waiting;
}

describe('an attempt that waits for its lane', () => {
  it('takes nothing of a run that ends meanwhile', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    const owner = await attempt(scope, first);
    const outcome = { status: 'succeeded', error: null } as const;
    const taken = await whileCommitting(
      { table: 'runs', on: 'update', when: `new.id = '${first}' and new.status = 'succeeded'` },
      () => endRun(db, scope, { runId: first, outcome, owner, last: receiptOf(first, 1), breaksConnection: false }),
      () => takeLane(db, scope, first, takeOptions()),
    );
    expect(taken).toBeUndefined();
    const lane = await db.selectFrom('lanes').select('fence').where('id', '=', owner.laneId).executeTakeFirst();
    expect(lane?.fence).toBe(owner.fence);
  });

  it('goes on behind the batch that is recorded meanwhile', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    const owner = await attempt(scope, first);
    const position = { stage: 'partitions', next: 1, read: null } as never;
    const taken = await whileCommitting(
      { table: 'runs', on: 'update', when: `new.id = '${first}' and new.batch_no = 1` },
      () => recordBatch(db, scope, { owner, receipt: receiptOf(first, 1, { position }) }),
      () => takeLane(db, scope, first, takeOptions()),
    );
    expect(taken).toMatchObject({
      batchNo: 1,
      pageNo: 1,
      recordsIn: 2,
      position,
      attempts: 1,
      fenceBefore: owner.fence,
    });
  });
});

describe('an attempt that waits to reset its lane', () => {
  const meaning = { key: 'k', cursor: 'c', read: 'r', account: '', places: '', fields: '', known: '' } as const;

  /** A run under way whose lane knows one record. */
  async function knownLane() {
    const { scope, connectionId, first: runId, begin } = await twoRuns();
    await begin(runId);
    const owner = await attempt(scope, runId);
    await recordBatch(db, scope, { owner, receipt: receiptOf(runId, 1, { position: runStart }) });
    const { laneId, fence, meaning: before } = owner;
    const lane = { laneId, fence, runId };
    return {
      ...{ scope, connectionId, owner, runId },
      ways: {
        conformLane: () => conformLane(db, scope, { ...lane, before, meaning, changed: ['key'] }),
        forgetLane: () => forgetLane(db, scope, lane),
      },
      /** All that a reset changes. */
      state: async () => ({
        lane: await db
          .selectFrom('lanes')
          .select(['generation', 'meaning'])
          .where('id', '=', laneId)
          .executeTakeFirstOrThrow(),
        known: await findRecordStates(db, scope, { laneId, externalIds: ['r1'] }),
        partitions: await db.selectFrom('partitions').selectAll().where('laneId', '=', laneId).execute(),
        run: await findRun(db, scope, runId),
      }),
    };
  }

  it.each(['conformLane', 'forgetLane'] as const)(
    'changes nothing once a newer one has taken the lane: %s',
    async (way) => {
      const { scope, owner, runId, ways, state } = await knownLane();
      const before = await state();
      expect(before).toMatchObject({ known: [{ externalId: 'r1' }], partitions: [{ watermark }] });
      const reset = await whileCommitting(
        { table: 'lanes', on: 'update', when: `new.id = ${owner.laneId} and new.fence > ${owner.fence}` },
        () => takeLane(db, scope, runId, takeOptions()),
        ways[way],
      );
      expect(reset).toBeNull();
      expect(await state()).toEqual(before);
    },
  );

  it('changes nothing once its facts have come to be of another account', async () => {
    const { scope, connectionId, owner, ways, state } = await knownLane();
    const before = await state();
    const reset = await whileCommitting(
      { table: 'lanes', on: 'update', when: `new.id = ${owner.laneId}` },
      () => db.transaction().execute((tx) => readFromStart(tx, scope, { connectionId, resourceKeys: ['a'] })),
      ways.conformLane,
    );
    expect(reset).toBeNull();
    expect(await state()).toEqual({ ...before, lane: { ...before.lane, meaning: ofOtherAccount } });
    expect(await findMeanings(db, scope, connectionId)).toEqual(new Map([['a', ofOtherAccount]]));
  });

  it.each(['conformLane', 'forgetLane'] as const)('leaves a run that ends meanwhile as it ended: %s', async (way) => {
    const { scope, owner, runId, ways, state } = await knownLane();
    const outcome = { status: 'succeeded', error: null } as const;
    const reset = await whileCommitting(
      { table: 'runs', on: 'update', when: `new.id = '${runId}' and new.status = 'succeeded'` },
      () =>
        endRun(db, scope, {
          runId,
          outcome,
          owner,
          last: receiptOf(runId, 2, { records: [] }),
          breaksConnection: false,
        }),
      ways[way],
    );
    expect(reset).toMatchObject({ position: null });
    const { run, known, partitions } = await state();
    expect(run).toMatchObject({ status: 'succeeded', watermarkAfter: watermark, notes: {} });
    // Its last batch is among what is forgotten: the next run reads from the start.
    expect({ known, partitions }).toEqual({ known: [], partitions: [] });
  });
});

describe('a batch that waits for somebody who requeues a record', () => {
  it.each([
    [
      'a newer version of it that was kept back',
      { records: [], quarantine: [quarantineEntry({ id: newId('quar') })] },
      1,
    ],
    ['a newer version of it that was delivered', {}, 0],
  ])('ends the request with %s', async (_, parts, open) => {
    const { scope, connectionId, first, begin } = await twoRuns();
    await begin(first);
    const owner = await attempt(scope, first);
    const id = `quar_${first}`;
    const quarantine = [quarantineEntry({ id })];
    await recordBatch(db, scope, {
      owner,
      receipt: receiptOf(first, 1, { records: [], quarantine, position: runStart }),
    });
    await whileCommitting(
      { table: 'quarantine', on: 'update', when: `new.id = '${id}' and new.requeued_at is not null` },
      () => requeueOne(db, scope, id),
      () => recordBatch(db, scope, { owner, receipt: receiptOf(first, 2, parts) }),
    );
    const rows = await db.selectFrom('quarantine').selectAll().where('connectionId', '=', connectionId).execute();
    expect(rows.filter(({ requeuedAt }) => requeuedAt !== null)).toEqual([]);
    expect(rows.filter(({ resolvedAt }) => resolvedAt === null)).toHaveLength(open);
  });
});

describe('a run that waits for its turn', () => {
  it('tells the endpoint that is made meanwhile that it has begun', async () => {
    const org = await api.newOrg();
    await publishSpec(org);
    const connectionId = await createActiveConnection(org);
    const scope = orgScope(org.orgId);
    const { id } = await insertRun(db, scope, newRun(connectionId));
    const begun = await whileCommitting(
      { table: 'webhook_endpoints', on: 'insert', when: `new.org_id = '${org.orgId}'` },
      () => createEndpoint(org, { eventTypes: ['run.started'] }),
      () => beginRun(db, scope, id),
    );
    expect(begun).toMatchObject({ turn: 'running', eventsFor: 1 });
  });
});

describe('a firing that waits for its schedule', () => {
  it('sees that the run which would have read the same is canceled meanwhile', async () => {
    const { scope, connectionId } = await connection();
    const place = { connectionId, resourceKey: 'a' };
    const { id } = await insertRun(db, scope, newRun(connectionId));
    const schedule = {
      ...place,
      orgId: scope.orgId,
      cron: '0 * * * *',
      timezone: 'UTC',
      longestGapSeconds: 3600,
      applyAt: '2030-01-01',
    };
    const scheduleId = 'sched_1';
    await db
      .insertInto('schedules')
      .values({ ...schedule, id: scheduleId })
      .execute();
    await using gate = await holdRows(api.databaseUrl, `select from schedules where id = '${scheduleId}' for update`);
    const facts = db.transaction().execute(async (tx) => {
      await lockConnectionOfSchedule(tx, scope, scheduleId);
      return findFiringFacts(tx, scope, { scheduleId, scheduledFor: '2030-01-01T00:00:00.000Z' });
    });
    await gate.reached();
    await requestCancel(db, scope, id);
    await gate.open();
    expect(await facts).toMatchObject({ isWaitedFor: false, runId: null });
  });
});

describe('a request to a hook', () => {
  it('joins no run that somebody cancels meanwhile', async () => {
    const { scope, connectionId } = await connection();
    const { id } = await insertRun(db, scope, newRun(connectionId));
    await leaveToSweeper(db, scope, id);
    const waiting = await whileCommitting(
      { table: 'runs', on: 'update', when: `new.id = '${id}' and new.status = 'canceled'` },
      () => db.transaction().execute((tx) => requestCancel(tx, scope, id)),
      () => db.transaction().execute((tx) => findWaitingRun(tx, scope, { connectionId, resourceKey: 'a' })),
    );
    expect(waiting).toBeUndefined();
  });
});

describe('an event that is recorded while its endpoint', () => {
  /** An org with an endpoint that gets what {@link happen} records, and the statuses of its messages. */
  async function orgWithEndpoint() {
    const org = await api.newOrg();
    const { id: endpointId } = await createEndpoint(org, { eventTypes: ['run.succeeded'] });
    const statuses = async () => (await messagesOf(api, endpointId)).map(({ status }) => status);
    return { org, endpointId, scope: orgScope(org.orgId), statuses };
  }
  const written = (org: { readonly orgId: string }) =>
    ({ table: 'webhook_messages', on: 'insert', when: `new.org_id = '${org.orgId}'` }) as const;
  const changed = (endpointId: string) =>
    ({ table: 'webhook_endpoints', on: 'update', when: `new.id = '${endpointId}'` }) as const;

  it('is deleted is canceled there', async () => {
    const { org, endpointId, statuses } = await orgWithEndpoint();
    const remove = () => org.call('DELETE', `/webhook-endpoints/${endpointId}`);
    const removed = await whileCommitting(written(org), () => happen(api, org), remove);
    expect([removed.status, await statuses()]).toEqual([200, ['canceled']]);
  });

  it('is deleted is not queued there when the deletion commits first', async () => {
    const { org, endpointId, statuses } = await orgWithEndpoint();
    const remove = () => org.call('DELETE', `/webhook-endpoints/${endpointId}`);
    await whileCommitting(changed(endpointId), remove, () => happen(api, org));
    expect(await statuses()).toEqual([]);
  });

  /** Disables an endpoint to which an event is due: it responds that it is gone. */
  async function disable(scope: OrgScope, endpointId: string): Promise<void> {
    const leaseToken = endpointId;
    const [claimed] = await claimDue(db, scope, { endpointId, limit: 1, leaseMs: 60_000, leaseToken });
    if (!claimed) throw new Error('nothing is due');
    const result = {
      ...{ attempt: claimed, probe: false, secretId: 'whs_1', requestHeaders: {}, retryInMs: null },
      outcome: { statusCode: 410, errorCode: 'http_status', headers: {}, body: '', durationMs: 5 },
      verdict: { delivered: false, otherwise: 'canceled', disables: true, pauseMs: null },
    } as const;
    await recordAttempts(db, scope, { endpointId, leaseToken, results: [result], retryWindowMs: 1000 });
  }
  const disabled = (org: { readonly orgId: string }) =>
    ({ table: 'webhook_endpoints', on: 'update', when: `new.org_id = '${org.orgId}' and not new.enabled` }) as const;

  it.each(['first', 'last'])(
    'is disabled is left out there, and can be recovered, when it commits %s',
    async (when) => {
      const { org, endpointId, scope, statuses } = await orgWithEndpoint();
      await happen(api, org);
      const [record, end] = [() => happen(api, org), () => disable(scope, endpointId)];
      await (when === 'first'
        ? whileCommitting(written(org), record, end)
        : whileCommitting(disabled(org), end, record));
      expect(await statuses()).toEqual(['canceled', 'skipped']);
    },
  );

  it('is disabled at the same time as another one is recorded there, too: the two do not wait for each other', async () => {
    const { org, endpointId, scope } = await orgWithEndpoint();
    const types = ['run.succeeded', 'endpoint.disabled'];
    const { id: otherId } = await createEndpoint(org, { eventTypes: types });
    expect((await org.call('PATCH', `/webhook-endpoints/${endpointId}`, { body: { eventTypes: types } })).status).toBe(
      200,
    );
    await happen(api, org);
    const [end, endOther] = [() => disable(scope, endpointId), () => disable(scope, otherId)];
    await whileCommitting(disabled(org), end, endOther);
    const all = await Promise.all([endpointId, otherId].map((id) => messagesOf(api, id)));
    expect(all.map((messages) => messages.map(({ status }) => status))).toEqual([
      ['canceled', 'skipped'],
      ['canceled', 'skipped'],
    ]);
  });
});
