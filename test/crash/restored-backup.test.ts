/**
 * The drill of docs/operations/backup-and-restore.md: the control database is dumped under traffic, the service goes on and
 * is then lost with its Temporal, and the dump is restored beside a new, empty Temporal. The destinations are ahead of it.
 */
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { migrateToLatest } from '../../db/migrate.ts';
import { temporalScheduleId } from '../../workflows/contract.ts';
import { runAdmin } from '../support/service/admin.ts';
import { eventually } from '../support/service/eventually.ts';
import { findPostgresPrograms, startPostgresWithPrograms } from '../support/service/postgres-programs.ts';
import { scratchFolder } from '../support/service/scratch-folder.ts';
import { type Stack, startStack } from '../support/service/stack.ts';
import { createSync, type Sync } from '../support/sync/sync.ts';
import { generateRecords, startUpstream } from '../support/upstream/upstream.ts';
import { createEndpoint, emit, recordEvents } from '../support/webhooks/endpoints.ts';
import { startEventReceiver } from '../support/webhooks/event-receiver.ts';

const perPage = 50;
const [longRecords, recordsBefore, recordsAfter] = [10_000, 400, 100];

/** Null: nothing to dump with. `npm test` brings a PostgreSQL server, but not its client programs. */
const programs = await findPostgresPrograms();
const cleanup = new AsyncDisposableStack();
afterAll(() => cleanup.disposeAsync());

test.skipIf(programs === null)(
  'a dump under traffic, restored beside an empty Temporal, loses no record and makes no row twice',
  async () => {
    const server = cleanup.use(await startPostgresWithPrograms(programs ?? ''));
    const receiver = cleanup.use(await startEventReceiver());
    const upstream = cleanup.use(
      await startUpstream({
        collections: { long: generateRecords(longRecords), daily: generateRecords(recordsBefore) },
        latencyMs: 20,
      }),
    );
    const databaseUrl = await server.createDatabase('control');
    await migrateToLatest(databaseUrl);
    const allow = [receiver.hostPort, upstream.hostPort];
    const stack = await startStack({ allow, databaseUrl });
    await using first = new AsyncDisposableStack();
    first.use(stack);
    const { org, keyRing } = stack;

    // Traffic: a run under way, one that has ended, a schedule, and events that are not sent yet.
    const daily = cleanup.use(await createSync(stack, { upstream, collection: 'daily', perPage }));
    await daily.ended(await daily.requestPaused().then((id) => (upstream.resume(), id)));
    const long = cleanup.use(await createSync(stack, { upstream, collection: 'long', perPage }));
    const endpoint = await createEndpoint(stack, receiver, { name: 'orders', eventTypes: ['spec.published'] });
    const schedule = await org.call('POST', `/connections/${daily.connectionId}/schedules`, {
      body: { resourceKey: 'daily', cron: '0 3 1 1 *' },
    });
    const longRun = await long.requestPaused();
    upstream.resume();
    await eventually('some pages are recorded', async () => (await long.recordedPages(longRun)) > 20);
    const events = await recordEvents(stack, 3);
    const dump = join(scratchFolder(), 'control.dump');
    await server.dump(databaseUrl, dump);
    const dumpedPages = await long.recordedPages(longRun);

    // What the dump does not know: batches of the run, a whole run, deliveries.
    await eventually('the run goes on', async () => (await long.recordedPages(longRun)) > dumpedPages + 40);
    upstream.store('daily').put(...generateRecords(recordsBefore + recordsAfter).slice(recordsBefore));
    expect((await daily.ended(await daily.request())).statsJson.recordsOut).toBe(recordsAfter);
    const later = await emit(stack);
    await receiver.received('orders', events.length + later.length);
    await eventually('the events are delivered', async () => (await endpoint.queue())['pending'] === undefined);
    await Promise.all(stack.workers().map((worker) => worker.kill('SIGKILL')));
    await first.disposeAsync();

    const restoredUrl = await server.createDatabase('restored');
    await server.restore(dump, restoredUrl);
    const restored = cleanup.use(await startStack({ allow, databaseUrl: restoredUrl, keyRing, workers: 0 }));
    const before = await sequences(restored);
    expect((await runAdmin(restored.env, 'events', 'renumber', '--json')).exitCode).toBe(0);
    expect(await sequences(restored)).toEqual(before.map((last) => last + 1_000_000));
    const { stdout, exitCode } = await runAdmin(restored.env, 'reconcile', '--json');
    expect(exitCode).toBe(0);
    const report = JSON.parse(stdout);
    expect(report.schedules).toEqual({ created: 1, deleted: 0 });
    const inTemporal = restored.temporal.client.schedule.getHandle(temporalScheduleId(schedule.body.id));
    expect((await inTemporal.describe()).scheduleId).toBe(temporalScheduleId(schedule.body.id));
    expect(report.runs).toEqual([{ id: longRun, orgId: org.orgId }]);
    const laneOf = ({ connectionId }: Sync) =>
      report.lanes.find((lane: { connectionId: string }) => lane.connectionId === connectionId);
    expect(laneOf(long)).toMatchObject({ state: 'ahead', reason: null, runId: longRun });
    expect(laneOf(long).batches).toBeGreaterThan(1);
    expect(laneOf(daily)).toMatchObject({ state: 'ahead', batches: null });
    expect(report.endpoints).toEqual([{ endpointId: endpoint.id, orgId: org.orgId, pending: events.length }]);

    await restored.startWorker();
    const call: typeof org.call = (method, path, options) =>
      restored.org.call(method, path, { ...options, apiKey: org.apiKey });
    const ended = (runId: string) =>
      eventually(
        `${runId} ends`,
        async () => {
          const { body } = await call('GET', `/runs/${runId}`);
          return body.finishedAt !== null && body;
        },
        { timeoutMs: 60_000 },
      );
    expect((await ended(longRun)).status).toBe('succeeded');
    const { body: again } = await call('POST', `/connections/${daily.connectionId}/sync`, {
      body: { resource: 'daily' },
    });
    expect((await ended(again.id)).status).toBe('succeeded');

    for (const [sync, name] of [
      [long, 'long'],
      [daily, 'daily'],
    ] as const) {
      const wanted = upstream.store(name).list();
      const rows = await sync.destination.query(`select id, name, email, amount::float8 from ${name}`);
      const delivered = new Map(rows.map((row) => [row['id'], row]));
      expect(delivered.size).toBe(rows.length);
      expect(wanted.filter(({ id }) => !delivered.has(id)).map(({ id }) => id)).toEqual([]);
      expect(rows.length).toBe(wanted.length);
      for (const { id, name: called, email, amount } of wanted)
        expect(delivered.get(id)).toEqual({ id, name: called, email, amount });
      const { rows: distinct, inserts, deletes } = await sync.destination.writes();
      expect({ distinct, inserts, deletes }).toEqual({ distinct: wanted.length, inserts: wanted.length, deletes: 0 });
    }
    // The lane is in step again: a quiet run finds nothing to do.
    const { body: quiet } = await call('POST', `/connections/${daily.connectionId}/sync`, {
      body: { resource: 'daily' },
    });
    expect((await ended(quiet.id)).statsJson).toMatchObject({ recordsOut: 0 });
    // Events are sent again under their ids, with the same bytes.
    await eventually('all events came again', async () =>
      events.every((id) => receiver.events('orders').filter((event) => event.id === id).length >= 2),
    );
    for (const id of events) {
      const bodies = receiver.events('orders').filter((event) => event.id === id);
      expect(new Set(bodies.map(({ sha256 }) => sha256)).size).toBe(1);
    }
  },
  180_000,
);

/** The last number of the events of each connection. */
async function sequences({ db }: Pick<Stack, 'db'>): Promise<readonly number[]> {
  const rows = await db.selectFrom('eventSequences').select('last').orderBy('connectionId').execute();
  return rows.map(({ last }) => last);
}
