import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { takeToken } from '../../db/queries/connections/buckets.ts';
import { findConnection, markConnectionDeleted } from '../../db/queries/connections/connections.ts';
import { findPurgeableConnections, purgeSome } from '../../db/queries/connections/purge.ts';
import { acceptHookRequest } from '../../db/queries/hooks/hook-requests.ts';
import { insertHook } from '../../db/queries/hooks/hooks.ts';
import { takeLane } from '../../db/queries/runs/attempts.ts';
import { recordBatch } from '../../db/queries/runs/batches/batches.ts';
import { openOutbox, putPending } from '../../db/queries/runs/batches/outbox.ts';
import { insertCalls } from '../../db/queries/runs/calls.ts';
import { requestCancelOfAll } from '../../db/queries/runs/cancel.ts';
import { beginRun } from '../../db/queries/runs/lanes/begin-run.ts';
import { endRun } from '../../db/queries/runs/lanes/end-run.ts';
import { addWrittenColumns } from '../../db/queries/runs/lanes/written-columns.ts';
import { addToDimension } from '../../db/queries/runs/run-dimensions.ts';
import { insertRun } from '../../db/queries/runs/runs.ts';
import { orgScope } from '../../db/scope.ts';
import { newId } from '../../src/core/ids.ts';
import { runStart } from '../../src/core/model/run-position.ts';
import { ofOrg } from '../support/service/aged-rows.ts';
import { newCall } from '../support/service/calls.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';
import { newRun, pageEntry, quarantineEntry, receiptOf, takeOptions } from '../support/service/receipts.ts';
import { insertTestConnection } from '../support/service/rows.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const outcome = { status: 'canceled', error: null } as const;
const purgeable = async () =>
  (await findPurgeableConnections(database.db, { olderThanMs: 0, limit: 10 })).map(({ id }) => id);

describe('removing a deleted connection', () => {
  it('takes everything of it, however little goes at once, and nothing of another', async () => {
    const [gone, other] = [await filledConnection(), await filledConnection()];
    const before = await rowsOf(other.orgId);
    expect(Object.values(before).every((count) => count > 0)).toBe(true);
    await markConnectionDeleted(database.db, gone.scope, gone.connectionId);
    await endRun(database.db, gone.scope, { runId: gone.runId, outcome, breaksConnection: false });

    const purge = () => purgeSome(database.db, gone.scope, { connectionId: gone.connectionId, rowsMax: 1 });
    let calls = 1;
    while (!(await purge())) calls += 1;

    expect(calls).toBeGreaterThan(5);
    expect(Object.values(await rowsOf(gone.orgId)).every((count) => count === 0)).toBe(true);
    expect(await rowsOf(other.orgId)).toEqual(before);
  });

  it('waits for its runs to end, of which none begins any more', async () => {
    const { scope, connectionId, runId } = await filledConnection();
    const waiting = await insertRun(database.db, scope, newRun(connectionId));
    expect(await markConnectionDeleted(database.db, scope, connectionId)).toBe(true);
    expect(await markConnectionDeleted(database.db, scope, connectionId)).toBe(false);
    expect(await findConnection(database.db, scope, connectionId)).toBeUndefined();
    expect(await purgeable()).not.toContain(connectionId);
    await endRun(database.db, scope, { runId, outcome, breaksConnection: false });
    expect(await purgeable()).not.toContain(connectionId);
    expect((await beginRun(database.db, scope, waiting.id)).turn).toBe('canceled');
    expect(await purgeable()).toContain(connectionId);
  });

  it('leaves a request that is in progress time to end', async () => {
    const { scope, connectionId } = await filledConnection();
    await markConnectionDeleted(database.db, scope, connectionId);
    await requestCancelOfAll(database.db, scope, connectionId);
    const soon = await findPurgeableConnections(database.db, { olderThanMs: 60_000, limit: 10 });
    expect(soon.map(({ id }) => id)).not.toContain(connectionId);
  });

  it('asks its open runs to stop once, however often it is asked to', async () => {
    const { scope, connectionId, runId } = await filledConnection();
    expect((await requestCancelOfAll(database.db, scope, connectionId)).map(({ id }) => id)).toEqual([runId]);
    expect(await requestCancelOfAll(database.db, scope, connectionId)).toEqual([]);
  });

  it('never takes a connection that is not deleted', async () => {
    const { scope, connectionId, runId, orgId } = await filledConnection();
    await endRun(database.db, scope, { runId, outcome, breaksConnection: false });
    expect(await purgeable()).not.toContain(connectionId);
    expect(await rowsOf(orgId)).toMatchObject({ connections: 1, runs: 1 });
  });
});

describe('an attempt whose run is gone', () => {
  it('gets an error at every step and leaves nothing behind', async () => {
    const { scope, connectionId, runId, orgId, owner } = await filledConnection();
    await markConnectionDeleted(database.db, scope, connectionId);
    await endRun(database.db, scope, { runId, outcome, breaksConnection: false });
    while (!(await purgeSome(database.db, scope, { connectionId, rowsMax: 100 })));

    expect((await beginRun(database.db, scope, runId)).turn).toBeNull();
    expect(await takeLane(database.db, scope, runId, takeOptions())).toBeUndefined();
    expect(await recordBatch(database.db, scope, { owner, receipt: receiptOf(runId, 2) })).toEqual({
      outcome: 'fenced',
    });
    expect(await endRun(database.db, scope, { runId, outcome, breaksConnection: true })).toEqual({
      run: undefined,
      ended: false,
      eventsFor: 0,
      next: [],
    });
    expect(Object.values(await rowsOf(orgId)).every((count) => count === 0)).toBe(true);
  });
});

/** A connection with a run under way, and something of it in every table. */
async function filledConnection() {
  const { db } = database;
  const { orgId, connectionId } = await insertTestConnection(db);
  const scope = orgScope(orgId);
  const { id: runId } = await insertRun(db, scope, newRun(connectionId));
  await beginRun(db, scope, runId);
  const owner = await takeLane(db, scope, runId, takeOptions());
  if (!owner) throw new Error('No such run');
  await recordBatch(db, scope, { owner, receipt: mixedReceipt(runId) });
  const values = [{ key: 'p', value: 'p' }];
  await addToDimension(db, scope, { runId, owner, dimension: 0, values, position: runStart });
  await insertCalls(db, scope, [newCall({ runId, sequence: 1 })]);
  await takeToken(db, scope, {
    rate: { connectionId, name: 'http', requests: 1, perSeconds: 1, burst: 1 },
    waitMsMax: 0,
  });
  await addWrittenColumns(db, scope, { owner, target: 't', names: ['name'] });
  const sender = { ...owner, runId };
  await openOutbox(db, scope, {
    owner: sender,
    target: { address: 'address', standing: () => 'same' },
    generation: '',
  });
  await putPending(db, scope, {
    owner: sender,
    pending: { runId, batchNo: 2, draft: '', rejected: '[]', parts },
    sequence: 2,
  });
  const id = newId('hook');
  const resourceKeys = ['items'];
  const settings = { dedupe: null, debounceSeconds: 2, maxWaitSeconds: 30, verification: { kind: 'none' } } as const;
  await insertHook(db, scope, {
    ...settings,
    id,
    connectionId,
    resourceKeys,
    tokenHash: Buffer.from(id),
    secret: null,
  });
  await acceptHookRequest(
    db,
    scope,
    { id, connectionId, resourceKeys },
    { notifications: null, hasId: false, contents: null },
  );
  return { scope, orgId, connectionId, runId, owner };
}

const parts = [
  { path: '0', again: false, isDoubted: false, mayBeTaken: false, id: 'bat_1', body: Buffer.from('{}'), indexes: [0] },
];

const mixedReceipt = (runId: string) =>
  receiptOf(runId, 1, {
    pages: [pageEntry({ recordsIn: 2, skipped: 0, quarantined: 1 })],
    quarantine: [quarantineEntry({ id: `quar_${runId}`, externalId: 'r3' })],
  });

async function rowsOf(orgId: string): Promise<Readonly<Record<string, number>>> {
  const tables = [
    'connections',
    'lanes',
    'runs',
    'run_pages',
    'partitions',
    'run_dimensions',
    'record_state',
    'quarantine',
    'call_log',
    'buckets',
    'outboxes',
    'written_columns',
    'outbox_parts',
    'hooks',
    'hook_requests',
    'hook_triggers',
  ];
  const counts = tables.map(async (table): Promise<[string, number]> => {
    const { rows } = await sql<{ n: number }>`
      select count(*) as n from ${sql.table(table)} where ${ofOrg(table, orgId)}`.execute(database.db);
    return [table, rows[0]?.n ?? -1];
  });
  return Object.fromEntries(await Promise.all(counts));
}
