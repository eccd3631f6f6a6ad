import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type OldRows,
  purgeCalls,
  purgeDimensions,
  purgeEndpoints,
  purgeEvents,
  purgePages,
  purgeRecoveries,
  purgeResolved,
} from '../../db/queries/orgs/retention.ts';
import { insertAskedDelivery, lockDeliveryTarget } from '../../db/queries/webhooks/deliveries.ts';
import { insertRecovery } from '../../db/queries/webhooks/recoveries.ts';
import { orgScope } from '../../db/scope.ts';
import { loadConfig } from '../../src/config/config.ts';
import { newId } from '../../src/core/ids.ts';
import { maintain } from '../../src/maintenance/maintenance.ts';
import { createRetentionSweep } from '../../src/maintenance/retention-sweep.ts';
import {
  agedCalls,
  agedEvent,
  agedRecord,
  agedRun,
  countAgedRows,
  daysAgo,
  loggedAttempt,
} from '../support/service/aged-rows.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { eventually } from '../support/service/eventually.ts';
import { createActiveConnection, publishSpec } from '../support/upstream/api-fixtures.ts';
import { createEndpoint, happen, messagesOf, receiverUrl } from '../support/webhooks/webhook-rows.ts';

let api: TestApi;
let org: TestOrg;
let connectionId: string;
let endpointId: string;

beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  // What is old goes whoever made it: the tests before left some. A truncate would wait for readers, and they for it.
  for (const table of [
    'callLog',
    'runPages',
    'runDimensions',
    'quarantine',
    'webhookEvents',
    'webhookRecoveries',
  ] as const)
    await api.deps.db.deleteFrom(table).execute();
  ({ org, connectionId, endpointId } = await filledOrg());
});
afterAll(() => api[Symbol.asyncDispose]());

/** An org with a connection, one of everything that does not grow too old, and an endpoint. */
async function filledOrg() {
  const filled = await api.newOrg();
  const { orgId } = filled;
  const { db } = api.deps;
  await publishSpec(filled);
  const connection = await createActiveConnection(filled);
  const schedule = { resourceKey: 'items', cron: '0 3 * * *' };
  await filled.call('POST', `/connections/${connection}/schedules`, { body: schedule });
  const lane = { orgId, connectionId: connection, resourceKey: 'items' };
  const { id: laneId } = await db.insertInto('lanes').values(lane).returning('id').executeTakeFirstOrThrow();
  const state = { orgId, laneId, externalId: 'r1', hash: Buffer.from('h'), status: 'delivered' } as const;
  await db.insertInto('recordState').values(state).execute();
  const updatedAt = daysAgo(1000).toISOString();
  await db.insertInto('partitions').values({ orgId, laneId, watermark: '7', updatedAt }).execute();
  const { id } = await createEndpoint(filled, { eventTypes: ['run.succeeded'] });
  return { org: filled, connectionId: connection, endpointId: id };
}

/** One of everything that grows too old, as many days old. */
async function addAged({ of, days }: { readonly of: Awaited<ReturnType<typeof filledOrg>>; readonly days: number }) {
  const { db } = api.deps;
  const ages = { madeDaysAgo: days, endedDaysAgo: days, resolvedDaysAgo: days };
  const runId = await agedRun(api, of.org, { connectionId: of.connectionId, ...ages });
  await agedCalls(api, of.org, { runId, days });
  const eventId = await agedEvent(api, of.org, { days });
  const deliveryId = await loggedAttempt(api, of.org, { eventId, endpointId: of.endpointId });
  const recoveryId = newId('whr');
  const at = daysAgo(days).toISOString();
  await db
    .insertInto('webhookRecoveries')
    .values({
      id: recoveryId,
      orgId: of.org.orgId,
      endpointId: of.endpointId,
      since: at,
      until: at,
      include: [],
      total: 1,
      createdAt: at,
    })
    .execute();
  await db.updateTable('webhookMessages').set({ recoveryId }).where('eventId', '=', eventId).execute();
  const quarantineId = await agedRecord(api, of.org, { connectionId: of.connectionId, ...ages });
  return { runId, deliveryId, recoveryId, quarantineId };
}

const sweep = (days = 90) => createRetentionSweep(api.deps, days)();
const old = (rowsMax = 100): OldRows => ({ before: daysAgo(90), rowsMax });
const read = (path: string) => org.call('GET', path);
const eventIds = async () =>
  (await api.deps.db.selectFrom('webhookEvents').select('id').where('orgId', '=', org.orgId).execute()).map(
    ({ id }) => id,
  );

describe('what is older than it is kept', () => {
  it('goes, of every kind; what is younger stays, and so does another org', async () => {
    const other = await filledOrg();
    await addAged({ of: other, days: 89 });
    await addAged({ of: { org, connectionId, endpointId }, days: 89 });
    const [mine, theirs] = [await countAgedRows(api, org), await countAgedRows(api, other.org)];
    expect(Object.values(mine).every((count) => count > 0)).toBe(true);
    await addAged({ of: { org, connectionId, endpointId }, days: 91 });

    await sweep();

    expect(await countAgedRows(api, org)).toEqual({ ...mine, runs: (mine['runs'] ?? 0) + 1 });
    expect(await countAgedRows(api, other.org)).toEqual(theirs);
  });

  it('is kept for as many days as the deployment says', async () => {
    await addAged({ of: { org, connectionId, endpointId }, days: 20 });
    const before = await countAgedRows(api, org);
    await sweep(21);
    expect(await countAgedRows(api, org)).toEqual(before);
    await sweep(19);
    expect(await countAgedRows(api, org)).toMatchObject({ call_log: 0, run_pages: 0, webhook_recoveries: 0, runs: 1 });
  });

  it('reads as if it had never been, but for the run', async () => {
    const { runId, deliveryId, recoveryId, quarantineId } = await addAged({
      of: { org, connectionId, endpointId },
      days: 91,
    });
    expect((await read(`/runs/${runId}/calls`)).body).toHaveLength(1);
    expect((await read('/webhook-deliveries')).body).toHaveLength(1);
    await sweep();
    expect(await read(`/runs/${runId}/calls`)).toMatchObject({ status: 200, body: [] });
    expect(await read(`/runs/${runId}`)).toMatchObject({ status: 200, body: { statsJson: { recordsIn: 7 } } });
    expect(await read('/webhook-deliveries')).toMatchObject({ status: 200, body: [] });
    expect((await read(`/webhook-deliveries/${deliveryId}`)).status).toBe(404);
    expect((await org.call('POST', `/webhook-deliveries/${deliveryId}/redeliver`)).status).toBe(404);
    expect((await read(`/webhook-recoveries/${recoveryId}`)).status).toBe(404);
    expect((await read(`/quarantine/${quarantineId}`)).status).toBe(404);
  });

  it('goes while Temporal is away, by the loop of the worker', async () => {
    const { runId } = await addAged({ of: { org, connectionId, endpointId }, days: 41 });
    const stopping = new AbortController();
    const config = loadConfig({ RETENTION_DAYS: '40' });
    const loop = maintain({ ...api.deps, config }, stopping.signal);
    try {
      await eventually('the calls are gone', async () => (await read(`/runs/${runId}/calls`)).body.length === 0);
    } finally {
      stopping.abort();
      await loop;
    }
  });
});

describe('a deleted endpoint', () => {
  const isStored = async (id: string) => {
    const stored = api.deps.db.selectFrom('webhookEndpoints').select('id').where('id', '=', id);
    return (await stored.executeTakeFirst()) !== undefined;
  };
  const deletedFor = async (id: string, days: number) => {
    expect((await org.call('DELETE', `/webhook-endpoints/${id}`)).status).toBe(200);
    const deletedAt = daysAgo(days).toISOString();
    await api.deps.db.updateTable('webhookEndpoints').set({ deletedAt }).where('id', '=', id).execute();
  };

  it('goes when it was deleted so long ago that the log of its deliveries has gone; others stay', async () => {
    const { id: youngerId } = await createEndpoint(org);
    const { id: livingId } = await createEndpoint(org);
    await addAged({ of: { org, connectionId, endpointId }, days: 91 });
    await deletedFor(endpointId, 91);
    await deletedFor(youngerId, 89);
    await sweep();
    expect(await Promise.all([endpointId, youngerId, livingId].map(isStored))).toEqual([false, true, true]);
  });

  it('stays while an attempt, a message or a recovery of it is left', async () => {
    await addAged({ of: { org, connectionId, endpointId }, days: 91 });
    await deletedFor(endpointId, 91);
    const left = ['webhookDeliveries', 'webhookMessages', 'webhookRecoveries'] as const;
    for (const table of left) {
      expect(await purgeEndpoints(api.deps.db, old())).toBe(0);
      await api.deps.db.deleteFrom(table).where('endpointId', '=', endpointId).execute();
    }
    expect(await purgeEndpoints(api.deps.db, old())).toBe(1);
  });
});

it('a previous signing secret goes when it signs no more, by the loop of the worker', async () => {
  const { db } = api.deps;
  const secrets = () =>
    db
      .selectFrom('webhookEndpointSecrets')
      .select(['id', 'expiresAt'])
      .where('endpointId', '=', endpointId)
      .orderBy('id')
      .execute();
  const rotated = async () => {
    expect((await org.call('POST', `/webhook-endpoints/${endpointId}/rotate-secret`)).status).toBe(200);
    return secrets();
  };
  const [first] = await rotated();
  const [, second, third] = await rotated();
  const expiresAt = new Date(Date.now() - 1).toISOString();
  await db
    .updateTable('webhookEndpointSecrets')
    .set({ expiresAt })
    .where('id', '=', first?.id ?? '')
    .execute();
  const stopping = new AbortController();
  const loop = maintain({ ...api.deps, config: loadConfig({}) }, stopping.signal);
  try {
    await eventually('the secret is gone', async () => (await secrets()).length === 2);
  } finally {
    stopping.abort();
    await loop;
  }
  expect(await secrets()).toEqual([second, third]);
});

describe('what stays however old it is', () => {
  it('pages of a run that has not ended, or ended lately', async () => {
    await agedRun(api, org, { connectionId, madeDaysAgo: 200, endedDaysAgo: null, status: 'running' });
    await agedRun(api, org, { connectionId, madeDaysAgo: 200, endedDaysAgo: 1 });
    expect(await purgePages(api.deps.db, old())).toBe(0);
    expect(await purgeDimensions(api.deps.db, old())).toBe(0);
    expect(await countAgedRows(api, org)).toMatchObject({ run_pages: 2, run_dimensions: 2 });
  });

  it('records that are not resolved, or wait for another try', async () => {
    await agedRecord(api, org, { connectionId, madeDaysAgo: 200, resolvedDaysAgo: null });
    await agedRecord(api, org, { connectionId, madeDaysAgo: 200, resolvedDaysAgo: 150, requeued: true });
    await agedRecord(api, org, { connectionId, madeDaysAgo: 200, resolvedDaysAgo: 1 });
    expect(await purgeResolved(api.deps.db, old())).toBe(0);
  });

  it('events with a message that waits, with all of their messages and attempts, which keep no other from going', async () => {
    const { id: otherId } = await createEndpoint(org, { eventTypes: ['run.succeeded'] });
    const eventId = await agedEvent(api, org, { days: 200 });
    await loggedAttempt(api, org, { eventId, endpointId });
    await api.deps.db
      .updateTable('webhookMessages')
      .set({ status: 'pending', nextAttemptAt: daysAgo(0).toISOString() })
      .where('endpointId', '=', otherId)
      .execute();
    const before = await countAgedRows(api, org);
    expect(await purgeEvents(api.deps.db, old())).toBe(0);
    expect(await countAgedRows(api, org)).toEqual(before);
    await agedEvent(api, org, { days: 100 });
    expect(await purgeEvents(api.deps.db, old(1))).toBe(1);
  });

  it.each(['queued', 'sending'] as const)('events with an attempt that is %s', async (state) => {
    const eventId = await agedEvent(api, org, { days: 200 });
    const attemptId = await loggedAttempt(api, org, { eventId, endpointId, state });
    expect(await purgeEvents(api.deps.db, old())).toBe(0);
    await agedEvent(api, org, { days: 100 });
    expect(await purgeEvents(api.deps.db, old(1))).toBe(1);
    expect(await eventIds()).toContain(eventId);
    const done = api.deps.db.updateTable('webhookDeliveries').set({ state: 'done' });
    await done.where('id', '=', attemptId).execute();
    expect(await purgeEvents(api.deps.db, old())).toBe(1);
  });

  it('recoveries of which a message is left', async () => {
    await addAged({ of: { org, connectionId, endpointId }, days: 200 });
    expect(await purgeRecoveries(api.deps.db, old())).toBe(0);
    expect(await purgeEvents(api.deps.db, old())).toBe(1);
    expect(await purgeRecoveries(api.deps.db, old())).toBe(1);
  });
});

describe('removing', () => {
  it('takes no more at once than it may, the oldest first', async () => {
    const runId = await agedRun(api, org, { connectionId, madeDaysAgo: 200, endedDaysAgo: 1 });
    await agedCalls(api, org, { runId, days: 100, count: 5 });
    for (const days of [120, 100, 110]) {
      await agedRun(api, org, { connectionId, madeDaysAgo: days, endedDaysAgo: days });
      await agedRecord(api, org, { connectionId, madeDaysAgo: days, resolvedDaysAgo: days });
    }
    const [second, first, third] = [
      await agedEvent(api, org, { days: 110 }),
      await agedEvent(api, org, { days: 120, status: 'exhausted' }),
      await agedEvent(api, org, { days: 100 }),
    ];
    const removed = async (purge: typeof purgeCalls) => [
      await purge(api.deps.db, old(2)),
      await purge(api.deps.db, old(2)),
      await purge(api.deps.db, old(2)),
    ];
    expect(await removed(purgeCalls)).toEqual([2, 2, 1]);
    for (const purge of [purgePages, purgeDimensions, purgeResolved]) expect(await removed(purge)).toEqual([2, 1, 0]);
    expect(await purgeEvents(api.deps.db, old(2))).toBe(2);
    const kept = await eventIds();
    expect(kept).toContain(third);
    expect(kept).not.toContain(first);
    expect(kept).not.toContain(second);
  });

  it('goes on at every round while something is left, and looks again after a minute', async () => {
    const runId = await agedRun(api, org, { connectionId, madeDaysAgo: 200, endedDaysAgo: 1 });
    await agedCalls(api, org, { runId, days: 100 });
    await sql`
      insert into call_log (id, org_id, run_id, sequence, method, url, attempt, cache_hit, req_headers_redacted,
        resp_headers, created_at)
      select 'call_' || n, org_id, run_id, n, method, url, attempt, cache_hit, req_headers_redacted, resp_headers,
        created_at
      from call_log, generate_series(1, 20001) n where run_id = ${runId}`.execute(api.deps.db);
    const calls = async () => (await countAgedRows(api, org))['call_log'];
    const round = createRetentionSweep(api.deps, 90);
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      await eventually('all are gone', async () => {
        await round();
        return (await calls()) === 0;
      });
      // The last round may have ended with a batch that was full.
      await round();
      await agedCalls(api, org, { runId, days: 100 });
      await round();
      expect(await calls()).toBe(1);
      vi.advanceTimersByTime(60_000);
      await round();
      expect(await calls()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('counts everything once when several do it at the same time', async () => {
    const runId = await agedRun(api, org, { connectionId, madeDaysAgo: 200, endedDaysAgo: 1 });
    await agedCalls(api, org, { runId, days: 100, count: 200 });
    for (let event = 0; event < 40; event += 1) {
      const eventId = await agedEvent(api, org, { days: 100 });
      await loggedAttempt(api, org, { eventId, endpointId });
    }
    const before = await countAgedRows(api, org);
    const purgeAll = async (purge: typeof purgeCalls, rowsMax: number) => {
      const counts: number[] = [];
      for (let time = 0; time < 40; time += 1) counts.push(await purge(api.deps.db, old(rowsMax)));
      return counts;
    };
    const several = (purge: typeof purgeCalls, rowsMax: number) =>
      Promise.all([1, 2, 3].map(() => purgeAll(purge, rowsMax)));
    const sum = (counts: readonly number[][]) => counts.flat().reduce((total, count) => total + count, 0);
    const [events, calls] = await Promise.all([several(purgeEvents, 3), several(purgeCalls, 11)]);
    expect(sum(events)).toBe(40);
    expect(sum(calls)).toBe(200);
    expect(await countAgedRows(api, org)).toEqual({
      ...before,
      call_log: 0,
      webhook_events: (before['webhook_events'] ?? 0) - 40,
      webhook_messages: 0,
      webhook_deliveries: 0,
    });
  });

  it('waits for nobody: what somebody holds is left to a later batch', async () => {
    const runId = await agedRun(api, org, { connectionId, madeDaysAgo: 200, endedDaysAgo: 1 });
    await agedCalls(api, org, { runId, days: 100, count: 3 });
    const [held, messageHeld] = [await agedEvent(api, org, { days: 100 }), await agedEvent(api, org, { days: 100 })];
    await agedEvent(api, org, { days: 100 });
    await api.deps.db.transaction().execute(async (tx) => {
      await tx.selectFrom('callLog').select('id').where('runId', '=', runId).limit(1).forUpdate().execute();
      await tx.selectFrom('webhookEvents').select('id').where('id', '=', held).forKeyShare().execute();
      await tx.selectFrom('webhookMessages').select('seq').where('eventId', '=', messageHeld).forUpdate().execute();
      expect(await purgeCalls(api.deps.db, old())).toBe(2);
      expect(await purgeEvents(api.deps.db, old())).toBe(1);
    });
    expect(await purgeCalls(api.deps.db, old())).toBe(1);
    expect(await purgeEvents(api.deps.db, old())).toBe(2);
  });
});

describe('an event that is asked for when it goes', () => {
  it('is there for every delivery that is listed', async () => {
    for (const days of [89, 91, 120]) {
      const eventId = await agedEvent(api, org, { days });
      await loggedAttempt(api, org, { eventId, endpointId });
    }
    await sweep();
    const { body: listed } = await read('/webhook-deliveries');
    expect(listed).toHaveLength(1);
    for (const { id } of listed)
      expect((await org.call('POST', `/webhook-deliveries/${id}/redeliver`)).status).toBe(202);
  });

  it('stays for a redelivery that came first', async () => {
    const eventId = await agedEvent(api, org, { days: 100 });
    const deliveryId = await loggedAttempt(api, org, { eventId, endpointId });
    const scope = orgScope(org.orgId);
    const asked = { eventId, endpointId, url: receiverUrl, trigger: 'redelivery', redeliveryOf: deliveryId } as const;
    await api.deps.db.transaction().execute(async (tx) => {
      await lockDeliveryTarget(tx, scope, deliveryId);
      expect(await purgeEvents(api.deps.db, old())).toBe(0);
      await insertAskedDelivery(tx, scope, asked);
    });
    expect(await purgeEvents(api.deps.db, old())).toBe(0);
    expect((await read('/webhook-deliveries')).body).toHaveLength(2);
  });

  it('is gone for a redelivery that came second', async () => {
    const eventId = await agedEvent(api, org, { days: 100 });
    const deliveryId = await loggedAttempt(api, org, { eventId, endpointId });
    const reply = await whileGoing(eventId, () => org.call('POST', `/webhook-deliveries/${deliveryId}/redeliver`));
    expect(reply.status).toBe(404);
  });

  it('stays for a recovery that came first', async () => {
    const eventId = await agedEvent(api, org, { days: 100, status: 'exhausted' });
    await api.deps.db.transaction().execute(async (tx) => {
      await insertRecovery(tx, orgScope(org.orgId), { ...around, endpointId, include: ['failed'] });
      expect(await purgeEvents(api.deps.db, old())).toBe(0);
    });
    expect(await purgeEvents(api.deps.db, old())).toBe(0);
    expect(await messagesOf(api, endpointId)).toMatchObject([{ eventId, status: 'pending' }]);
  });

  it('is gone for a recovery that came second', async () => {
    const eventId = await agedEvent(api, org, { days: 100 });
    const { id: newEndpointId } = await createEndpoint(org, { eventTypes: ['run.succeeded'] });
    const body = { ...around, include: ['missing'] };
    const reply = await whileGoing(eventId, () =>
      org.call('POST', `/webhook-endpoints/${newEndpointId}/recover`, { body }),
    );
    expect(reply).toMatchObject({ status: 202, body: { total: 0, status: 'finished' } });
  });

  it('goes without its younger siblings', async () => {
    const [gone, kept] = [await agedEvent(api, org, { days: 100 }), await happen(api, org)];
    await sweep();
    const left = await eventIds();
    expect(left).toContain(kept);
    expect(left).not.toContain(gone);
  });
});

const around = { since: daysAgo(110).toISOString(), until: daysAgo(95).toISOString() };

/** Makes a request while an event is being removed, and lets the removal end once the request waits for it. */
function whileGoing<Reply>(eventId: string, request: () => Promise<Reply>): Promise<Reply> {
  const { db } = api.deps;
  return db
    .transaction()
    .execute(async (tx) => {
      const { pid } = await tx.selectNoFrom(sql<number>`pg_backend_pid()`.as('pid')).executeTakeFirstOrThrow();
      await tx.deleteFrom('webhookEvents').where('id', '=', eventId).execute();
      const reply = request();
      reply.catch(() => undefined);
      await eventually('the request waits', async () => {
        const { rows } = await sql`
          select from pg_stat_activity where ${pid}::int = any(pg_blocking_pids(pid))`.execute(db);
        return rows.length > 0;
      });
      return { reply };
    })
    .then(({ reply }) => reply);
}
