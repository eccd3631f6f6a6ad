import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lockConnection } from '../../db/queries/connections/connections.ts';
import { type Attempt, takeLane } from '../../db/queries/runs/attempts.ts';
import { recordBatch } from '../../db/queries/runs/batches/batches.ts';
import { beginRun } from '../../db/queries/runs/lanes/begin-run.ts';
import { conformLane, findMeanings, keepMeanings } from '../../db/queries/runs/lanes/conform-lane.ts';
import { endRun } from '../../db/queries/runs/lanes/end-run.ts';
import { findRecordStates } from '../../db/queries/runs/records/record-state.ts';
import { findRun, insertRun } from '../../db/queries/runs/runs.ts';
import { orgScope } from '../../db/scope.ts';
import { type Facet, noMeaning } from '../../src/core/spec/connection/meaning.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';
import { newRun, receiptOf, takeOptions, watermark } from '../support/service/receipts.ts';
import { insertTestConnection } from '../support/service/rows.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const meaning = { key: 'k', cursor: 'c', read: 'r', account: '', places: '', fields: '', known: '' } as const;

describe('a lane whose facts mean something else', () => {
  it('is reset once: the run after that has its watermark again', async () => {
    const lane = await syncedLane();
    const changed = await lane.begin();
    await lane.conform(changed, ['read']);
    expect((await lane.row(changed.runId))?.watermarkBefore).toBeNull();
    await lane.sync(changed);
    const next = await lane.begin();
    expect(next.attempt.meaning).toEqual(meaning);
    expect((await lane.row(next.runId))?.watermarkBefore).toBe(watermark);
  });

  it('may be reset again by the next attempt of the run', async () => {
    const lane = await syncedLane();
    const { runId, attempt } = await lane.begin();
    await lane.conform({ runId, attempt }, ['key']);
    const second = await takeLane(database.db, lane.scope, runId, takeOptions());
    if (!second) throw new Error('No such run');
    await lane.conform({ runId, attempt: second }, ['key']);
    expect(await lane.known()).toBe(0);
    expect(await lane.row(runId)).toMatchObject({ notes: { started_over: 1 } });
  });

  it('touches no other lane', async () => {
    const [lane, other] = [await syncedLane(), await syncedLane()];
    await lane.conform(await lane.begin(), ['key']);
    const { runId } = await other.begin();
    expect((await other.row(runId))?.watermarkBefore).toBe(watermark);
    expect(await other.known()).toBe(1);
  });
});

describe('what the facts of a lane have meant', () => {
  it('is noted before it changes, and only where the lane does not say it', async () => {
    const lane = await syncedLane();
    const keep = (meanings: ReadonlyMap<string, object>) =>
      database.db.transaction().execute(async (tx) => {
        await lockConnection(tx, lane.scope, lane.connectionId);
        await keepMeanings(tx, lane.scope, { connectionId: lane.connectionId, meanings });
      });
    const known = () => findMeanings(database.db, lane.scope, lane.connectionId);
    expect(await known()).toEqual(new Map([['a', null]]));
    await keep(new Map([['a', noMeaning]]));
    expect(await known()).toEqual(new Map([['a', noMeaning]]));
    await keep(new Map([['a', meaning]]));
    expect(await known()).toEqual(new Map([['a', { ...meaning, ...noMeaning }]]));
  });
});

/** A run that has begun, and its last attempt. */
interface Begun {
  readonly runId: string;
  readonly attempt: Pick<Attempt, 'laneId' | 'fence' | 'meaning'>;
}

/** A lane with one successful run behind it. */
async function syncedLane() {
  const { db } = database;
  const { orgId, connectionId } = await insertTestConnection(db);
  const scope = orgScope(orgId);
  const begin = async () => {
    const { id: runId } = await insertRun(db, scope, newRun(connectionId));
    await beginRun(db, scope, runId);
    const attempt = await takeLane(db, scope, runId, takeOptions());
    if (!attempt) throw new Error('No such run');
    return { runId, attempt };
  };
  const sync = async ({ runId, attempt }: Begun) => {
    const recorded = await recordBatch(db, scope, { owner: attempt, receipt: receiptOf(runId, 1) });
    if (recorded.outcome !== 'recorded') throw new Error(recorded.outcome);
    await endRun(db, scope, { runId, outcome: { status: 'succeeded', error: null }, breaksConnection: false });
  };
  const first = await begin();
  await sync(first);
  const { laneId } = first.attempt;
  return {
    scope,
    connectionId,
    begin,
    sync,
    conform: ({ runId, attempt: { fence, meaning: before } }: Begun, changed: readonly Facet[]) =>
      conformLane(db, scope, { laneId, fence, runId, before, meaning, changed }),
    row: (runId: string) => findRun(db, scope, runId),
    known: async () => (await findRecordStates(db, scope, { laneId, externalIds: ['r1'] })).length,
  };
}
