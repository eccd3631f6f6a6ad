import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findConnection, setConnectionStatus } from '../../db/queries/connections/connections.ts';
import { noteFailure, resetAttempts, takeLane } from '../../db/queries/runs/attempts.ts';
import { recordBatch } from '../../db/queries/runs/batches.ts';
import { beginRun, endRun, type RunOutcome } from '../../db/queries/runs/lanes.ts';
import { findRecordStates } from '../../db/queries/runs/record-state.ts';
import { findPartition } from '../../db/queries/runs/run-dimensions.ts';
import { findRun, insertRun, requestCancel } from '../../db/queries/runs/runs.ts';
import { type OrgScope, orgScope } from '../../db/scope.ts';
import type { Receipt } from '../../src/core/model/receipt.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';
import { newRun, partitionEntry, quarantineEntry, receiptOf } from '../support/service/receipts.ts';
import { insertTestConnection } from '../support/service/rows.ts';

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

  it('edge case 19: concurrent manual and scheduled run', async () => {
    const { scope, connectionId } = await connection();
    const runs = await Promise.all(
      Array.from({ length: 8 }, (_, index) => {
        const trigger = index % 2 === 0 ? 'manual' : 'schedule';
        return insertRun(database.db, scope, newRun(connectionId, { trigger, concurrentMax: 4 }));
      }),
    );
    const turns = await Promise.all(runs.map((run) => beginRun(database.db, scope, run.id)));
    expect(turns.filter((turn) => turn === 'running')).toHaveLength(1);
  });

  it('holds a run back while one of a resource that it waits for is under way or queued before it', async () => {
    const { scope, connectionId } = await connection();
    const insert = async (resourceKey: string, waitsFor: readonly string[] = []) =>
      (await insertRun(database.db, scope, newRun(connectionId, { resourceKey, waitsFor, concurrentMax: 9 }))).id;
    const begin = (runId: string) => beginRun(database.db, scope, runId);
    const above = await insert('above');
    const below = await insert('below', ['above']);
    const later = await insert('above');
    expect(await begin(below)).toBe('waiting');
    expect(await begin(above)).toBe('running');
    expect(await begin(below)).toBe('waiting');
    const outcome = { status: 'succeeded', error: null } as const;
    const { next } = await endRun(database.db, scope, { runId: above, outcome, breaksConnection: false });
    expect(next.map(({ id }) => id).toSorted()).toEqual([below, later].toSorted());
    expect(await begin(below)).toBe('running');
  });

  it('passes over a run that was canceled while it waited', async () => {
    const { scope, first, second, begin } = await twoRuns();
    expect((await requestCancel(database.db, scope, first))?.status).toBe('canceled');
    expect(await begin(first)).toBe('canceled');
    expect(await begin(second)).toBe('running');
  });
});

describe('an org', () => {
  const outcome = { status: 'succeeded', error: null } as const;
  type Trigger = 'manual' | 'schedule' | 'webhook' | 'backfill';

  /** An org that may have so many runs under way, with a queued run of each trigger, each of a resource of its own. */
  async function orgWith(runsAtOnce: number, triggers: readonly Trigger[]) {
    const { scope, connectionId } = await connection();
    await setLimit(scope, runsAtOnce);
    const ids: string[] = [];
    for (const [index, trigger] of triggers.entries()) {
      const run = newRun(connectionId, { resourceKey: `r${index}`, trigger, concurrentMax: 1000 });
      ids.push((await insertRun(database.db, scope, run)).id);
    }
    return {
      scope,
      ids,
      begin: (id = '') => beginRun(database.db, scope, id),
      end: async (runId = '') => {
        const { next } = await endRun(database.db, scope, { runId, outcome, breaksConnection: false });
        return next.map(({ id }) => id);
      },
    };
  }
  const setLimit = (scope: OrgScope, runsAtOnce: number) =>
    database.db
      .updateTable('orgs')
      .set({ limits: JSON.stringify({ runsAtOnce }) })
      .where('id', '=', scope.orgId)
      .execute();
  const many = (count: number): Trigger[] => Array.from({ length: count }, () => 'manual');

  it('has as many runs under way as its limit says, however many begin at once', async () => {
    const { ids, begin } = await orgWith(5, many(20));
    const turns = await Promise.all(ids.map((id) => begin(id)));
    expect(turns.filter((turn) => turn === 'running')).toHaveLength(5);
    expect(turns.filter((turn) => turn === 'waiting')).toHaveLength(15);
  });

  it('has 10 under way unless the operator says otherwise, and the runs of others count for nothing', async () => {
    const { scope, ids, begin } = await orgWith(99, many(12));
    await database.db.updateTable('orgs').set({ limits: '{}' }).where('id', '=', scope.orgId).execute();
    const other = await orgWith(99, many(12));
    for (const id of other.ids) expect(await other.begin(id)).toBe('running');
    const turns = [];
    for (const id of ids) turns.push(await begin(id));
    expect(turns.filter((turn) => turn === 'running')).toHaveLength(10);
  });

  it('lets people go first, then timetables and hooks, then backfills, and each of them in the order of arrival', async () => {
    const { ids, begin, end } = await orgWith(1, ['manual', 'backfill', 'schedule', 'webhook', 'manual']);
    const [first, backfill, schedule, webhook, manual] = ids;
    expect(await begin(first)).toBe('running');
    for (const id of ids.slice(1)) expect(await begin(id)).toBe('waiting');
    expect(await end(first)).toEqual([manual]);
    for (const id of [backfill, schedule, webhook]) expect(await begin(id)).toBe('waiting');
    expect(await begin(manual)).toBe('running');
    expect(await end(manual)).toEqual([schedule]);
    expect(await begin(backfill)).toBe('waiting');
    expect(await begin(schedule)).toBe('running');
    expect(await end(schedule)).toEqual([webhook]);
    expect(await begin(webhook)).toBe('running');
    expect(await end(webhook)).toEqual([backfill]);
    expect(await begin(backfill)).toBe('running');
  });

  it('is not held up by a run that may not begin itself', async () => {
    const { scope, ids, begin } = await orgWith(2, ['manual', 'backfill']);
    const [blocked = '', backfill] = ids;
    const { connectionId = '' } = (await findRun(database.db, scope, blocked)) ?? {};
    const before = await insertRun(
      database.db,
      scope,
      newRun(connectionId, { resourceKey: 'r9', concurrentMax: 1000 }),
    );
    expect(await begin(before.id)).toBe('running');
    const behind = await insertRun(
      database.db,
      scope,
      newRun(connectionId, { resourceKey: 'r9', concurrentMax: 1000 }),
    );
    await requestCancel(database.db, scope, blocked);
    expect(await begin(behind.id)).toBe('waiting');
    expect(await begin(backfill)).toBe('running');
  });
});

describe('the end of a run', () => {
  const failure = { code: 'source_rejected', message: 'with a NUL \0 and half a pair \ud800' };
  const end = (scope: OrgScope, runId: string, outcome: RunOutcome, breaksConnection = false) =>
    endRun(database.db, scope, { runId, outcome, breaksConnection });

  it('keeps a message that no database column holds, made visible', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    const { run } = await end(scope, first, { status: 'failed', error: failure });
    expect(run).toMatchObject({ status: 'failed', error: { code: 'source_rejected' } });
  });

  it('is canceled for a run that was asked to stop and then failed', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    await requestCancel(database.db, scope, first);
    const { run } = await end(scope, first, { status: 'failed', error: failure });
    expect(run).toMatchObject({ status: 'canceled', error: null });
  });

  it('is succeeded for a read that was complete before it was asked to stop', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    await recordBatch(database.db, scope, { owner: await attempt(scope, first), receipt: receiptOf(first, 1) });
    await requestCancel(database.db, scope, first);
    expect((await end(scope, first, { status: 'canceled', error: null })).run?.status).toBe('succeeded');
  });

  it('is not for an attempt to write that another has taken over from', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    const [stale, owner] = [await attempt(scope, first), await attempt(scope, first)];
    const outcome = { status: 'partial', error: null } as const;
    const endAs = (by: typeof owner) =>
      endRun(database.db, scope, { runId: first, outcome, owner: by, breaksConnection: false });
    await expect(endAs(stale)).rejects.toMatchObject({ code: 'fenced' });
    expect((await findRun(database.db, scope, first))?.status).toBe('running');
    expect((await endAs(owner)).run?.status).toBe('partial');
  });

  it('breaks an active connection in the same transaction, a paused one never', async () => {
    const { scope, first, second, begin, connectionId } = await twoRuns();
    const connectionStatus = async () => (await findConnection(database.db, scope, connectionId))?.status;
    await begin(first);
    await end(scope, first, { status: 'failed', error: failure }, true);
    expect(await connectionStatus()).toBe('error');
    await setConnectionStatus(database.db, scope, { id: connectionId, status: 'active' });
    await begin(second);
    await setConnectionStatus(database.db, scope, { id: connectionId, status: 'paused' });
    await end(scope, second, { status: 'failed', error: failure }, true);
    expect(await connectionStatus()).toBe('paused');
  });
});

describe('a connection that is not active', () => {
  it('lets no waiting run begin', async () => {
    const { scope, first, begin, connectionId } = await twoRuns();
    await setConnectionStatus(database.db, scope, { id: connectionId, status: 'paused' });
    expect(await begin(first)).toBe('canceled');
  });
});

describe('taking the lane', () => {
  it('is refused to an attempt that was scheduled before its successor', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    await takeLane(database.db, scope, first, Date.now());
    await expect(takeLane(database.db, scope, first, Date.now() - 10_000)).rejects.toMatchObject({ code: 'fenced' });
  });

  it('is not held up by a fence that was made under a clock far ahead', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    const ahead = await takeLane(database.db, scope, first, Date.now() + 3_600_000);
    const now = await takeLane(database.db, scope, first, Date.now());
    expect(now?.fence).toBeGreaterThan(ahead?.fence ?? 0);
  });

  it('tells the next attempt why the last one failed, until one ends in order', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    await noteFailure(database.db, scope, { runId: first, code: 'source_unavailable', message: 'down' });
    expect(await attempt(scope, first)).toMatchObject({ attempts: 1, errorCode: 'source_unavailable' });
    await resetAttempts(database.db, scope, first);
    expect(await attempt(scope, first)).toMatchObject({ attempts: 1, errorCode: null });
  });
});

describe('the runs of a connection', () => {
  it('are never more at once than its API takes requests', async () => {
    const { scope, connectionId } = await connection();
    const insert = (resourceKey: string) =>
      insertRun(database.db, scope, newRun(connectionId, { resourceKey, concurrentMax: 2 }));
    const [a, b, c] = [await insert('a'), await insert('b'), await insert('c')];
    const begin = (run: { readonly id: string }) => beginRun(database.db, scope, run.id);
    expect([await begin(a), await begin(b), await begin(c)]).toEqual(['running', 'running', 'waiting']);
    const { next } = await endRun(database.db, scope, {
      runId: b.id,
      outcome: { status: 'failed', error: null },
      breaksConnection: false,
    });
    expect(next).toMatchObject([{ id: c.id, resourceKey: 'c' }]);
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

  it('keeps why the run fails with it for the next attempt, and never counts such a run as read', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    const owner = await attempt(scope, first);
    const receipt = receiptOf(first, 1, { failure: 'refused', partitions: [] });
    await recordBatch(database.db, scope, { owner, receipt });
    expect(await attempt(scope, first)).toMatchObject({ errorCode: 'record_invalid', errorMessage: 'refused' });
    await requestCancel(database.db, scope, first);
    const outcome = { status: 'canceled', error: null } as const;
    const { run } = await endRun(database.db, scope, { runId: first, outcome, breaksConnection: false });
    expect(run).toMatchObject({ status: 'canceled', watermarkAfter: null });
  });

  it('records what is said to be new, be it or not', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    const owner = await attempt(scope, first);
    const record = (batchNo: number, ids: readonly string[], hash: string) => {
      const records = ids.map((externalId) => ({ ...receiptEntry, externalId, hash }));
      return recordBatch(database.db, scope, { owner, receipt: receiptOf(first, batchNo, { records, allNew: true }) });
    };
    expect(await record(1, ['a', 'b'], 'AAAA')).toEqual({ outcome: 'recorded', stop: false });
    expect(await record(2, ['c', 'b'], 'BBBB')).toEqual({ outcome: 'recorded', stop: false });
    expect(await record(2, ['d'], 'CCCC')).toEqual({ outcome: 'stale' });
    const states = await findRecordStates(database.db, scope, {
      laneId: owner.laneId,
      externalIds: ['a', 'b', 'c', 'd'],
    });
    const found = states.map(({ externalId, hash }) => `${externalId} ${hash}`);
    expect(found.toSorted()).toEqual(['a AAAA', 'b BBBB', 'c BBBB']);
  });

  it('keeps one open quarantine row per record, and closes it when the record is delivered', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    const owner = await attempt(scope, first);
    const record = (batchNo: number, parts: Partial<Receipt>) =>
      recordBatch(database.db, scope, { owner, receipt: receiptOf(first, batchNo, parts) });
    await record(1, { records: [], quarantine: [quarantineEntry({ id: 'quar_1' })] });
    await record(2, { records: [], quarantine: [quarantineEntry({ id: 'quar_2' })] });
    const rows = () =>
      database.db.selectFrom('quarantine').select(['id', 'resolvedAt']).where('orgId', '=', scope.orgId).execute();
    expect(await rows()).toEqual([{ id: 'quar_1', resolvedAt: null }]);
    await record(3, { quarantine: [] });
    expect(await rows()).toEqual([{ id: 'quar_1', resolvedAt: expect.any(String) }]);
  });

  it('never fails on text that no column holds: a lane must not be blocked by what an API sent', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    const owner = await attempt(scope, first);
    const errors = [{ path: '', message: 'NUL \0 and \ud800', keyword: 'transform' }];
    const quarantine = [
      quarantineEntry({ id: 'quar_10', externalId: 'a', rawJson: '{"v":"\\u0000"}', errors }),
      quarantineEntry({ id: 'quar_11', externalId: 'b', rawJson: '{"account":[redacted]}', errors }),
    ];
    const recorded = await recordBatch(database.db, scope, { owner, receipt: receiptOf(first, 1, { quarantine }) });
    expect(recorded.outcome).toBe('recorded');
  });

  it('takes a watermark back when the read no longer claims it', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    const owner = await attempt(scope, first);
    await recordBatch(database.db, scope, { owner, receipt: receiptOf(first, 1) });
    const partitions = [partitionEntry({ watermark: null })];
    await recordBatch(database.db, scope, { owner, receipt: receiptOf(first, 2, { partitions }) });
    expect((await findRun(database.db, scope, first))?.watermarkAfter).toBeNull();
    const stored = await findPartition(database.db, scope, { laneId: owner.laneId, partition: '' });
    expect(stored?.watermark).toBeNull();
  });
});

const receiptEntry = { cursor: null, status: 'delivered', fields: null } as const;

async function connection() {
  const { orgId, connectionId } = await insertTestConnection(database.db);
  return { scope: orgScope(orgId), connectionId };
}

async function twoRuns() {
  const { scope, connectionId } = await connection();
  const insert = () => insertRun(database.db, scope, newRun(connectionId, { concurrentMax: 4 }));
  const first = (await insert()).id;
  const second = (await insert()).id;
  const outcome = { status: 'succeeded', error: null } as const;
  return {
    scope,
    connectionId,
    first,
    second,
    begin: (runId: string) => beginRun(database.db, scope, runId),
    end: (runId: string) => endRun(database.db, scope, { runId, outcome, breaksConnection: false }),
  };
}

async function attempt(scope: OrgScope, runId: string) {
  const taken = await takeLane(database.db, scope, runId);
  if (!taken) throw new Error('No such run');
  return taken;
}
