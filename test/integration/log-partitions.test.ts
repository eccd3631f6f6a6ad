import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { acceptHookRequest, hookRequestDays, listHookRequests } from '../../db/queries/hooks/hook-requests.ts';
import {
  addPartition,
  dropPartition,
  findPartitions,
  type Partition,
  type PartitionedTable,
} from '../../db/queries/maintenance/partitions.ts';
import { purgeCalls } from '../../db/queries/maintenance/retention.ts';
import { listCalls } from '../../db/queries/runs/calls.ts';
import { orgScope } from '../../db/scope.ts';
import { firstIdAt, timeOfId } from '../../src/core/ids.ts';
import { createPartitionSweep } from '../../src/maintenance/partition-sweep.ts';
import { createRetentionSweep } from '../../src/maintenance/retention-sweep.ts';
import { agedCalls, agedEvent, agedRun, daysAgo, loggedAttempt } from '../support/service/aged-rows.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { openFilledOrg } from '../support/sync/filled-org.ts';
import { createHook, sendTo } from '../support/webhooks/hooks.ts';

const logs = ['call_log', 'webhook_deliveries', 'hook_requests', 'hook_triggers'] as const;

let api: TestApi;
let org: TestOrg;
let connectionId: string;
let endpointId: string;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api[Symbol.asyncDispose]());
beforeEach(async () => {
  ({ org, connectionId, endpointId } = await openFilledOrg(api));
  for (const table of logs) {
    for (const { name } of await findPartitions(api.deps.db, table)) {
      await sql`drop table ${sql.table(name)}`.execute(api.deps.db);
    }
    await sql`delete from ${sql.table(`${table}_default`)}`.execute(api.deps.db);
  }
});

const sweep = () => createPartitionSweep(api.deps, 90)();
const rangesOf = async (table: PartitionedTable) =>
  (await findPartitions(api.deps.db, table)).map(({ from, to }) => [from.getTime(), to.getTime()]);

async function countIn(table: string): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}`.execute(api.deps.db);
  return rows[0]?.n ?? -1;
}

/** A partition whose ids are too old; throws unless it is the only one. */
async function oldPartition(table: PartitionedTable): Promise<Partition> {
  await addPartition(api.deps.db, table, { from: daysAgo(200), to: daysAgo(100) });
  const [partition] = await findPartitions(api.deps.db, table);
  if (!partition) throw new Error('no partition');
  return partition;
}

const before = () => daysAgo(90);
const drop = (table: PartitionedTable, partition: Partition) =>
  dropPartition(api.deps.db, table, { partition, before: before() });

describe('the partitions of a log', () => {
  it('are made ahead, once, however many workers do it at the same time', async () => {
    await Promise.all([1, 2, 3, 4].map(sweep));
    // Those that found the lock taken try again, as they do after a minute.
    await sweep();
    for (const table of logs) {
      const ranges = await rangesOf(table);
      const widthDays = table.startsWith('hook') ? 1 : 7;
      expect(ranges.slice(1).map(([from]) => from)).toEqual(ranges.slice(0, -1).map(([, to]) => to));
      expect(ranges.at(-1)?.[1]).toBeGreaterThan(Date.now() + 2 * widthDays * 86_400_000);
    }
    const made = await rangesOf('call_log');
    await sweep();
    expect(await rangesOf('call_log')).toEqual(made);
  });

  it('take every row: one that belongs to none is in the default one, and is found there', async () => {
    await oldPartition('call_log');
    for (const madeDaysAgo of [300, 150, 0, -400]) {
      const runId = await agedRun(api, org, { connectionId, madeDaysAgo, endedDaysAgo: 0 });
      await agedCalls(api, org, { runId, days: 0, count: 2 });
      expect(await listCalls(api.deps.db, orgScope(org.orgId), runId)).toMatchObject({ total: 2 });
    }
    expect(await countIn('call_log_default')).toBe(6);
  });

  it('begin behind rows of the default one that are of the future: a clock that jumped ahead loses nothing', async () => {
    const runId = await agedRun(api, org, { connectionId, madeDaysAgo: -1, endedDaysAgo: 0 });
    await agedCalls(api, org, { runId, days: 0, count: 3 });
    await sweep();
    const at = timeOfId(runId).getTime();
    const ranges = await rangesOf('call_log');
    expect(ranges.filter(([from = 0, to = 0]) => from <= at && at < to)).toEqual([]);
    expect(ranges.some(([from]) => from === at + 1)).toBe(true);
    expect(await countIn('call_log')).toBe(3);
    await sweep();
    expect(await listCalls(api.deps.db, orgScope(org.orgId), runId)).toMatchObject({ total: 3 });
  });

  it('are not changed while a statement uses them: the change gives way at once, and works afterwards', async () => {
    const partition = await oldPartition('call_log');
    await api.deps.db.transaction().execute(async (tx) => {
      await tx.selectFrom('callLog').select('id').execute();
      const startedMs = performance.now();
      await expect(drop('call_log', partition)).rejects.toMatchObject({ code: '55P03' });
      expect(performance.now() - startedMs).toBeLessThan(5000);
    });
    expect(await findPartitions(api.deps.db, 'call_log')).toHaveLength(1);
    await drop('call_log', partition);
    expect(await findPartitions(api.deps.db, 'call_log')).toEqual([]);
  });

  it('are dropped once, however many workers do it at the same time', async () => {
    const partition = await oldPartition('hook_requests');
    const results = await Promise.allSettled([1, 2, 3].map(() => drop('hook_requests', partition)));
    expect(results.filter(({ status }) => status === 'fulfilled')).not.toEqual([]);
    expect(await findPartitions(api.deps.db, 'hook_requests')).toEqual([]);
  });

  it('of old calls go as a whole; what a long run has called lately stays until it is old itself', async () => {
    const runId = await agedRun(api, org, { connectionId, madeDaysAgo: 150, endedDaysAgo: null, status: 'running' });
    await oldPartition('call_log');
    await agedCalls(api, org, { runId, days: 140, count: 5 });
    const { id: lateCall } = await api.deps.db.selectFrom('callLog').select('id').executeTakeFirstOrThrow();
    await api.deps.db
      .updateTable('callLog')
      .set({ createdAt: daysAgo(10).toISOString() })
      .where('id', '=', lateCall)
      .execute();
    await sweep();
    const left = await api.deps.db.selectFrom('callLog').select(['id', 'runId']).execute();
    expect(left).toEqual([{ id: lateCall, runId }]);
    expect(await countIn('call_log_default')).toBe(1);
    expect(await purgeCalls(api.deps.db, { before: before(), rowsMax: 10 })).toBe(0);
    expect(await purgeCalls(api.deps.db, { before: daysAgo(5), rowsMax: 10 })).toBe(1);
  });

  it('of old deliveries go as a whole; every attempt of an event with something left to send stays', async () => {
    const partition = await oldPartition('webhook_deliveries');
    const [over, waiting, open] = [
      await agedEvent(api, org, { days: 150 }),
      await agedEvent(api, org, { days: 150, status: 'pending' }),
      await agedEvent(api, org, { days: 150 }),
    ];
    const attempt = (eventId: string, state: 'done' | 'queued' = 'done') =>
      loggedAttempt(api, org, { eventId, endpointId, state, days: 149 });
    await attempt(over);
    const kept = [await attempt(waiting), await attempt(waiting), await attempt(open), await attempt(open, 'queued')];
    expect(await countIn(partition.name)).toBe(5);
    expect(await drop('webhook_deliveries', partition)).toBe(4);
    const left = await api.deps.db.selectFrom('webhookDeliveries').select('id').orderBy('id').execute();
    expect(left.map(({ id }) => id)).toEqual(kept.toSorted());
    for (const id of kept) expect((await org.call('GET', `/webhook-deliveries/${id}`)).status).toBe(200);
  });

  it('of deliveries go before their events do, so that everything that is listed can be sent again', async () => {
    await addPartition(api.deps.db, 'webhook_deliveries', { from: daysAgo(95), to: daysAgo(85) });
    const eventId = await agedEvent(api, org, { days: 94 });
    const id = await loggedAttempt(api, org, { eventId, endpointId, days: 94 });
    await createRetentionSweep(api.deps, 90)();
    expect((await org.call('POST', `/webhook-deliveries/${id}/redeliver`)).status).toBe(202);
    await api.deps.db.deleteFrom('webhookDeliveries').where('state', '=', 'queued').execute();
    await createPartitionSweep(api.deps, 80)();
    expect((await org.call('GET', `/webhook-deliveries/${id}`)).status).toBe(404);
    await createRetentionSweep(api.deps, 80)();
    expect(await api.deps.db.selectFrom('webhookEvents').select('id').where('id', '=', eventId).execute()).toEqual([]);
  });
});

describe('the log of requests to hooks', () => {
  it('accepts a notification once, over all partitions and however many come at the same time', async () => {
    const hook = await createHook(sendTo(api), org, connectionId, { debounceSeconds: 0 });
    const logged = { id: hook.id, connectionId, resourceKeys: ['items'] };
    const scope = orgScope(org.orgId);
    const accept = (key: string) =>
      acceptHookRequest(api.deps.db, scope, logged, { notifications: [key], hasId: true, contents: null });
    const accepted = await Promise.all(Array.from({ length: 20 }, () => accept('same')));
    expect(accepted.filter((one) => one !== 'duplicate')).toHaveLength(1);
    expect(await countIn('hook_requests_default')).toBe(1);
    // The next ones are in a partition, and the first one is not.
    const now = new Date(Date.now() + 1);
    await addPartition(api.deps.db, 'hook_requests', { from: now, to: daysAgo(-1) });
    await addPartition(api.deps.db, 'hook_triggers', { from: now, to: daysAgo(-1) });
    expect(await accept('same')).toBe('duplicate');
    expect(await accept('other')).not.toBe('duplicate');
    expect(await accept('other')).toBe('duplicate');
    expect(await listHookRequests(api.deps.db, scope, hook.id)).toMatchObject({ total: 2 });
  });

  it('loses the requests of a day, with what they asked for, once their time is over', async () => {
    const hook = await createHook(sendTo(api), org, connectionId, { debounceSeconds: 0 });
    const range = { from: daysAgo(hookRequestDays + 2), to: daysAgo(hookRequestDays + 1) };
    await addPartition(api.deps.db, 'hook_requests', range);
    await addPartition(api.deps.db, 'hook_triggers', range);
    const id = firstIdAt('hreq', new Date(range.from.getTime() + 1000));
    await sql`select accept_hook_request(${id}, ${org.orgId}, ${hook.id}, ${connectionId}, ${['items']}::text[], null, false)`.execute(
      api.deps.db,
    );
    expect([await countIn('hook_requests'), await countIn('hook_triggers')]).toEqual([1, 1]);
    await sweep();
    expect([await countIn('hook_requests'), await countIn('hook_triggers')]).toEqual([0, 0]);
  });
});
