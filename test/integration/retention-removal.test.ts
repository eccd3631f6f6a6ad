import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type OldRows,
  purgeCalls,
  purgeDimensions,
  purgeEvents,
  purgePages,
  purgeResolved,
} from '../../db/queries/maintenance/retention.ts';
import { insertRequestedDelivery, lockDeliveryTarget } from '../../db/queries/webhooks/deliveries.ts';
import { insertRecovery } from '../../db/queries/webhooks/recoveries.ts';
import { orgScope } from '../../db/scope.ts';
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
import { openFilledOrg } from '../support/sync/filled-org.ts';
import { createEndpoint, happen, messagesOf, receiverUrl } from '../support/webhooks/webhook-rows.ts';

let api: TestApi;
let org: TestOrg;
let connectionId: string;
let endpointId: string;

beforeAll(async () => {
  api = await startApi();
});
beforeEach(async () => {
  ({ org, connectionId, endpointId } = await openFilledOrg(api));
});
afterAll(() => api[Symbol.asyncDispose]());

const sweep = (days = 90) => createRetentionSweep(api.deps, days)();
const old = (rowsMax = 100): OldRows => ({ before: daysAgo(90), rowsMax });
const read = (path: string) => org.call('GET', path);
const eventIds = async () =>
  (await api.deps.db.selectFrom('webhookEvents').select('id').where('orgId', '=', org.orgId).execute()).map(
    ({ id }) => id,
  );

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

describe('an event that is requested while it is removed', () => {
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
      await insertRequestedDelivery(tx, scope, asked);
    });
    expect(await purgeEvents(api.deps.db, old())).toBe(0);
    expect((await read('/webhook-deliveries')).body).toHaveLength(2);
  });

  it('is not found by a redelivery that comes after the removal', async () => {
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

  it('is not found by a recovery that comes after the removal', async () => {
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
