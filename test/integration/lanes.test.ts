import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findConnection, setConnectionStatus } from '../../db/queries/connections/connections.ts';
import { noteFailure, resetAttempts, takeLane } from '../../db/queries/runs/attempts.ts';
import { recordBatch } from '../../db/queries/runs/batches/batches.ts';
import { requestCancel } from '../../db/queries/runs/cancel.ts';
import { leaveToSweeper } from '../../db/queries/runs/dispatch.ts';
import { beginRun } from '../../db/queries/runs/lanes/begin-run.ts';
import { endRun, type RunOutcome } from '../../db/queries/runs/lanes/end-run.ts';
import { findRunWaits } from '../../db/queries/runs/lanes/waits.ts';
import { findRun, insertRun } from '../../db/queries/runs/runs.ts';
import { type OrgScope } from '../../db/scope.ts';
import type { RunTrigger } from '../../src/core/resources/run.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';
import { newRun, receiptOf, takeOptions } from '../support/service/receipts.ts';
import { laneRuns } from '../support/sync/lane-runs.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const { connection, twoRuns, attempt } = laneRuns(() => database.db);

describe('a lane', () => {
  it('lets one run at a time begin, in the order of arrival', async () => {
    const { first, second, begin, end } = await twoRuns();
    expect(await begin(second)).toBe('waiting');
    expect(await begin(first)).toBe('running');
    expect(await begin(second)).toBe('waiting');
    expect(await end(first)).toMatchObject({ ended: true, next: [{ id: second, resourceKey: 'a' }] });
    expect(await begin(second)).toBe('running');
  });

  it('returns the same when a begin or an end is repeated', async () => {
    const { first, second, begin, end } = await twoRuns();
    expect([await begin(first), await begin(first)]).toEqual(['running', 'running']);
    expect([await end(first), await end(first)]).toMatchObject([
      { run: { status: 'succeeded' }, ended: true, next: [{ id: second, resourceKey: 'a' }] },
      { ended: false, next: [{ id: second, resourceKey: 'a' }] },
    ]);
    expect(await begin(first)).toBe('succeeded');
  });

  it('lets one run begin of manual and scheduled ones that begin at once', async () => {
    const { scope, connectionId } = await connection();
    const runs = await Promise.all(
      Array.from({ length: 8 }, (_, index) => {
        const trigger = index % 2 === 0 ? 'manual' : 'schedule';
        return insertRun(database.db, scope, newRun(connectionId, { trigger, concurrentMax: 4 }));
      }),
    );
    const turns = await Promise.all(runs.map(async (run) => (await beginRun(database.db, scope, run.id)).turn));
    expect(turns.filter((turn) => turn === 'running')).toHaveLength(1);
  });

  it('holds a run back while one of a resource that it waits for is in progress or queued before it', async () => {
    const { scope, connectionId } = await connection();
    const insert = async (resourceKey: string, waitsFor: readonly string[] = []) =>
      (await insertRun(database.db, scope, newRun(connectionId, { resourceKey, waitsFor, concurrentMax: 9 }))).id;
    const begin = async (runId: string) => (await beginRun(database.db, scope, runId)).turn;
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

  it('says which run holds one back, how many there are, and which places are taken', async () => {
    const { scope, connectionId } = await connection();
    const insert = async (resourceKey: string, waitsFor: readonly string[] = []) =>
      (await insertRun(database.db, scope, newRun(connectionId, { resourceKey, waitsFor, concurrentMax: 1 }))).id;
    const waitOf = async (runId: string, of = scope) => (await findRunWaits(database.db, of, [runId]))[0];
    const [above, below] = [await insert('above'), await insert('below', ['above'])];
    await insert('below', ['above']);
    const last = await insert('below', ['above']);
    const free = { before: null, runsBefore: 0, ofConnection: 0, concurrentMax: 1, ofOrg: 0, runsAtOnce: 10 };
    expect(await waitOf(above)).toMatchObject({ ...free, status: 'queued', isDispatched: true });
    expect(await waitOf(below)).toMatchObject({ before: { id: above, resourceKey: 'above' }, runsBefore: 1 });
    await leaveToSweeper(database.db, scope, above);
    expect(await waitOf(above)).toMatchObject({ isDispatched: false });
    expect((await beginRun(database.db, scope, above)).turn).toBe('running');
    const beforeLast = { before: { id: above }, runsBefore: 3, ofConnection: 1, ofOrg: 1 };
    expect(await waitOf(last)).toMatchObject(beforeLast);
    expect(await waitOf(above)).toMatchObject({ status: 'running', before: null, isDispatched: true });
    expect(await waitOf(above, (await connection()).scope)).toBeUndefined();
  });

  it('passes over a run that was canceled while it waited', async () => {
    const { scope, first, second, begin } = await twoRuns();
    await leaveToSweeper(database.db, scope, first);
    expect((await requestCancel(database.db, scope, first))?.status).toBe('canceled');
    expect(await begin(first)).toBe('canceled');
    expect(await begin(second)).toBe('running');
  });
});

describe('an org', () => {
  const outcome = { status: 'succeeded', error: null } as const;

  /** An org that may have so many runs under way, with a queued run of each trigger, each of a resource of its own. */
  async function orgWith(runsAtOnce: number, triggers: readonly RunTrigger[]) {
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
      begin: async (id = '') => (await beginRun(database.db, scope, id)).turn,
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
  const many = (count: number): RunTrigger[] => Array.from({ length: count }, () => 'manual');

  it('has as many runs in progress as its limit says, however many begin at once', async () => {
    const { ids, begin } = await orgWith(5, many(20));
    const turns = await Promise.all(ids.map((id) => begin(id)));
    expect(turns.filter((turn) => turn === 'running')).toHaveLength(5);
    expect(turns.filter((turn) => turn === 'waiting')).toHaveLength(15);
  });

  it('has 10 in progress unless the operator says otherwise, and the runs of others count for nothing', async () => {
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
    await takeLane(database.db, scope, first, takeOptions());
    await expect(
      takeLane(database.db, scope, first, takeOptions({ scheduledAtMs: Date.now() - 10_000 })),
    ).rejects.toMatchObject({
      code: 'fenced',
    });
  });

  it('is not held up by a fence that was made under a clock far ahead', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    const ahead = await takeLane(database.db, scope, first, takeOptions({ scheduledAtMs: Date.now() + 3_600_000 }));
    const now = await takeLane(database.db, scope, first, takeOptions());
    expect(now?.fence).toBeGreaterThan(ahead?.fence ?? 0);
  });

  it('tells the next attempt why the last one failed, until one ends in order', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    await noteFailure(database.db, scope, { runId: first, code: 'source_unavailable', message: 'down' });
    expect(await attempt(scope, first)).toMatchObject({ attempts: 2, errorCode: 'source_unavailable' });
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
    const begin = async (run: { readonly id: string }) => (await beginRun(database.db, scope, run.id)).turn;
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
