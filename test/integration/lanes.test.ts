import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { takeLane } from '../../db/queries/attempts.ts';
import { recordBatch } from '../../db/queries/batches.ts';
import { beginRun, endRun } from '../../db/queries/lanes.ts';
import { findRecordStates } from '../../db/queries/record-state.ts';
import { findRun, insertRun, requestCancel } from '../../db/queries/runs.ts';
import { type OrgScope, orgScope } from '../../db/scope.ts';
import type { Receipt } from '../../src/core/pipeline/receipt.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { insertTestConnection } from '../support/rows.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

describe('a lane', () => {
  it('lets one run at a time begin, in the order of arrival', async () => {
    const { first, second, begin, end } = await twoRuns();
    expect(await begin(second)).toBe('waiting');
    expect(await begin(first)).toBe('running');
    expect(await begin(second)).toBe('waiting');
    expect(await end(first)).toMatchObject({ ended: true, next: [{ id: second, resourceKey: 'a' }] });
    expect(await begin(second)).toBe('running');
  });

  it('answers the same when a begin or an end is repeated', async () => {
    const { first, second, begin, end } = await twoRuns();
    expect([await begin(first), await begin(first)]).toEqual(['running', 'running']);
    expect([await end(first), await end(first)]).toMatchObject([
      { run: { status: 'succeeded' }, ended: true, next: [{ id: second, resourceKey: 'a' }] },
      { ended: false, next: [{ id: second, resourceKey: 'a' }] },
    ]);
    expect(await begin(first)).toBe('succeeded');
  });

  it('lets exactly one of many begin when they try at once', async () => {
    const { scope, connectionId } = await connection();
    const runs = await Promise.all(
      Array.from({ length: 8 }, () =>
        insertRun(database.db, scope, { connectionId, resourceKey: 'a', trigger: 'manual', concurrentMax: 4 }),
      ),
    );
    const turns = await Promise.all(runs.map((run) => beginRun(database.db, scope, run.id)));
    expect(turns.filter((turn) => turn === 'running')).toHaveLength(1);
  });

  it('passes over a run that was canceled while it waited', async () => {
    const { scope, first, second, begin } = await twoRuns();
    expect((await requestCancel(database.db, scope, first))?.status).toBe('canceled');
    expect(await begin(first)).toBe('canceled');
    expect(await begin(second)).toBe('running');
  });
});

describe('the runs of a connection', () => {
  it('are never more at once than its API takes requests', async () => {
    const { scope, connectionId } = await connection();
    const insert = (resourceKey: string) =>
      insertRun(database.db, scope, { connectionId, resourceKey, trigger: 'manual', concurrentMax: 2 });
    const [a, b, c] = [await insert('a'), await insert('b'), await insert('c')];
    const begin = (run: { readonly id: string }) => beginRun(database.db, scope, run.id);
    expect([await begin(a), await begin(b), await begin(c)]).toEqual(['running', 'running', 'waiting']);
    const { next } = await endRun(database.db, scope, { runId: b.id, outcome: { status: 'failed', error: null } });
    expect(next).toEqual([{ id: c.id, resourceKey: 'c' }]);
    expect(await begin(c)).toBe('running');
  });
});

describe('recording a batch', () => {
  it('advances counts, ledger, fingerprints and watermark together, once', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    const { laneId, fence } = await attempt(scope, first);
    const receipt = receiptOf(first, 1);
    const record = () => recordBatch(database.db, scope, { owner: { laneId, fence }, receipt });
    expect(await record()).toEqual({ outcome: 'recorded', stop: false });
    expect(await record()).toEqual({ outcome: 'stale' });
    expect(await findRun(database.db, scope, first)).toMatchObject({
      statsJson: { recordsIn: 2, recordsOut: 1, skipped: 1, deleted: 0, quarantined: 0 },
      watermarkAfter: '2026-01-01T00:00:00.000Z',
    });
    const states = await findRecordStates(database.db, scope, { laneId, externalIds: ['r1', 'unknown'] });
    expect(states).toMatchObject([{ externalId: 'r1', status: 'delivered' }]);
  });

  it('is refused for an attempt that has lost the lane, and nothing of it is kept', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    const old = await attempt(scope, first);
    await attempt(scope, first);
    const recorded = await recordBatch(database.db, scope, { owner: old, receipt: receiptOf(first, 1) });
    expect(recorded).toEqual({ outcome: 'fenced' });
    expect((await findRun(database.db, scope, first))?.statsJson.recordsIn).toBe(0);
  });

  it('says stop once the run was asked to cancel', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    const owner = await attempt(scope, first);
    await requestCancel(database.db, scope, first);
    const recorded = await recordBatch(database.db, scope, { owner, receipt: receiptOf(first, 1) });
    expect(recorded).toEqual({ outcome: 'recorded', stop: true });
  });

  it('keeps one open quarantine row per record, and closes it when the record is delivered', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    const owner = await attempt(scope, first);
    const bad = (id: string) => ({ id, externalId: 'r1', rawJson: '{"v":1}', errors: [] });
    const record = (batchNo: number, parts: Partial<Receipt>) =>
      recordBatch(database.db, scope, { owner, receipt: { ...receiptOf(first, batchNo), ...parts } });
    await record(1, { records: [], quarantine: [bad('quar_1')] });
    await record(2, { records: [], quarantine: [bad('quar_2')] });
    const rows = () =>
      database.db.selectFrom('quarantine').select(['id', 'resolvedAt']).where('orgId', '=', scope.orgId).execute();
    expect(await rows()).toEqual([{ id: 'quar_1', resolvedAt: null }]);
    await record(3, { quarantine: [] });
    expect(await rows()).toEqual([{ id: 'quar_1', resolvedAt: expect.any(String) }]);
  });

  it('takes a watermark back when the read no longer claims it', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    const owner = await attempt(scope, first);
    await recordBatch(database.db, scope, { owner, receipt: receiptOf(first, 1) });
    await recordBatch(database.db, scope, { owner, receipt: { ...receiptOf(first, 2), watermark: null } });
    const kept = await database.db.selectFrom('watermarks').selectAll().where('laneId', '=', owner.laneId).execute();
    expect(kept).toEqual([]);
  });
});

async function connection() {
  const { orgId, connectionId } = await insertTestConnection(database.db);
  return { scope: orgScope(orgId), connectionId };
}

async function twoRuns() {
  const { scope, connectionId } = await connection();
  const insert = () =>
    insertRun(database.db, scope, { connectionId, resourceKey: 'a', trigger: 'manual', concurrentMax: 4 });
  const first = (await insert()).id;
  const second = (await insert()).id;
  const outcome = { status: 'succeeded', error: null } as const;
  return {
    scope,
    first,
    second,
    begin: (runId: string) => beginRun(database.db, scope, runId),
    end: (runId: string) => endRun(database.db, scope, { runId, outcome }),
  };
}

async function attempt(scope: OrgScope, runId: string) {
  const taken = await takeLane(database.db, scope, runId);
  if (!taken) throw new Error('No such run');
  return taken;
}

const receiptOf = (runId: string, batchNo: number): Receipt => ({
  runId,
  batchNo,
  pages: [{ pageNo: batchNo, requestKey: 'k', recordsIn: 2, recordsOut: 1, skipped: 1, quarantined: 0 }],
  records: [{ externalId: 'r1', hash: 'aGFzaA', cursor: null, status: 'delivered' }],
  quarantine: [],
  position: null,
  watermark: '2026-01-01T00:00:00.000Z',
});
