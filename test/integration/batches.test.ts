import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { statementValues } from '../../db/queries/runs/batches/batch-statement.ts';
import { recordBatch } from '../../db/queries/runs/batches/batches.ts';
import { requestCancel } from '../../db/queries/runs/cancel.ts';
import { endRun } from '../../db/queries/runs/lanes/end-run.ts';
import { findRecordStates } from '../../db/queries/runs/records/record-state.ts';
import { findPartition } from '../../db/queries/runs/run-dimensions.ts';
import { findRun } from '../../db/queries/runs/runs.ts';
import { orgScope } from '../../db/scope.ts';
import { newId } from '../../src/core/ids.ts';
import type { Receipt } from '../../src/core/model/receipt.ts';
import { textArray } from '../../src/core/postgres/binary-arrays.ts';
import { countingTurns } from '../../src/core/work/turns-fixture.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';
import { partitionEntry, quarantineEntry, receiptOf } from '../support/service/receipts.ts';
import { laneRuns } from '../support/sync/lane-runs.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const { twoRuns, attempt } = laneRuns(() => database.db);

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

  it('can end a run of more partitions than a database counts', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    await sql`insert into run_dimensions (org_id, run_id, dimension, no, key, value)
      select ${scope.orgId}, ${first}, dimension, no, no::text, to_jsonb(no)
      from generate_series(0, 3) dimension, generate_series(0, 59999) no`.execute(database.db);
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

  it('is prepared in slices if it has 50,000 records, between which other work has its turn', async () => {
    const records = Array.from({ length: 50_000 }, (_, n) => ({
      externalId: `r${(n * 7919) % 50_000}`,
      hash: 'AAAA',
      cursor: null,
      status: 'delivered' as const,
      fields: null,
    }));
    const values = () =>
      statementValues(orgScope('org_1'), {
        owner: { laneId: 1, fence: 1 },
        receipt: receiptOf('run_1', 1, { records }),
      });
    const { turns, externalIds } = await countingTurns(values);
    expect(turns).toBeGreaterThanOrEqual(6);
    expect(externalIds).toEqual(textArray(records.map(({ externalId }) => externalId).toSorted()));
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

  it('keeps a page of 10,000 records in quarantine in a few statements, the last version of each', async () => {
    const { scope, first, begin } = await twoRuns();
    await begin(first);
    const owner = await attempt(scope, first);
    const entryOf = (_: unknown, n: number) => {
      const externalId = n < 2 ? 'twice' : `r${n}`;
      return quarantineEntry({ id: newId('quar'), externalId, rawJson: `{"n":${n}}` });
    };
    const quarantine = Array.from({ length: 10_000 }, entryOf);
    let statements = 0;
    const counted = database.db.withPlugin({
      transformQuery({ node }) {
        statements += 1;
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    await recordBatch(counted, scope, { owner, receipt: receiptOf(first, 1, { records: [], quarantine }) });
    expect(statements).toBeLessThan(50);
    const rows = database.db.selectFrom('quarantine').select('rawJson').where('orgId', '=', scope.orgId);
    expect(await rows.execute()).toHaveLength(9_999);
    expect(await rows.where('externalId', '=', 'twice').execute()).toEqual([{ rawJson: { n: 1 } }]);
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
