import { describe, expect, it } from 'vitest';
import { refusingScript } from '../support/sqlserver/refusing.ts';
import { connectFake, isBatch, isTrials, laneScript, statementsOf, written } from '../support/sqlserver/script.ts';
import { type RequestReply, startTdsFake } from '../support/sqlserver/tds-fake.ts';
import type { TdsRequest } from '../support/sqlserver/tds-requests.ts';
import { batchOf, claimOf, columnOf, receiptOf, rowOf } from '../support/sync/batches.ts';

const columns = [columnOf('a', 'text'), columnOf('n', 'bigint')];
const claim = claimOf('dbo', { columns });

/** Errors as a server words them, values included. */
const errors = {
  deadlock: { number: 1205, message: 'Transaction was deadlocked and has been chosen as the victim.', class: 13 },
  lockTimeout: { number: 1222, message: 'Lock request time out period exceeded.' },
  duplicateKey: {
    number: 2627,
    message: `Violation of UNIQUE KEY constraint 'one_a'. Cannot insert duplicate key. The value is (secret).`,
    class: 14,
  },
  duplicateRow: { number: 2601, message: `Cannot insert duplicate key row with unique index 'ix'. It is (secret).` },
  reference: { number: 547, message: 'The DELETE statement conflicted with the REFERENCE constraint "still_used".' },
};

/** Fails the first batches with these errors; the others are written. */
function failing(...replies: readonly RequestReply[]) {
  const left = [...replies];
  return laneScript((request) => (isBatch(request) ? (left.shift() ?? written) : undefined));
}

const loads = (requests: readonly TdsRequest[]) => requests.filter(({ kind }) => kind === 'load');

describe('a batch', () => {
  it('is staged by bulk copy and written by one request, with its receipt', async () => {
    await using fake = await startTdsFake(laneScript());
    await using destination = connectFake(fake);
    await destination.open(claim);
    const opening = fake.requests.length;
    await destination.apply(
      batchOf([rowOf('1', { a: 'é😀', n: '9007199254740993' }), rowOf('2', { n: 'x' }), rowOf('3')], {
        tombstones: [
          { externalId: '4', effect: 'soft' },
          { externalId: '5', effect: 'hard' },
          { externalId: 'no id: \0', effect: 'hard' },
        ],
      }),
    );
    const requests = fake.requests.slice(opening);
    expect(requests.map((request) => (request.kind === 'load' ? request.rows : firstWords(request.sql)))).toEqual([
      'drop table if exists #rows;',
      'insert bulk #rows([n] int, [external_id]',
      [
        [0, '1', 'é😀', '9007199254740993'],
        [1, '3', null, null],
      ],
      'drop table if exists #deleted;',
      'insert bulk #deleted([n] int, [is_hard]',
      [
        [0, 0, '4'],
        [1, 1, '5'],
      ],
      "declare @outcome nvarchar(10) = N'lost';",
    ]);
    expect(requests.find(isBatch)?.values).toEqual({
      lane: 'con_1/items',
      fence: '1',
      run: 'run_1',
      batch: 1,
      connection: 'con_1',
      upto: 2,
      deleted: 2,
      receipt: receiptOf([{ index: 1, externalId: '2', message: '' }]),
    });
  });

  it.each([
    ['a deadlock', [errors.deadlock]],
    ['locks that are held for long', [errors.lockTimeout, errors.lockTimeout]],
    ['a row that another session has inserted meanwhile', [errors.duplicateKey, errors.duplicateRow]],
    ['rows that appeared between update and insert', [[{ outcome: 'race' }]]],
  ])('is repeated after %s, without staging it again', async (_, replies) => {
    await using fake = await startTdsFake(failing(...replies));
    await using destination = connectFake(fake);
    await destination.open(claim);
    expect(await destination.apply(batchOf([rowOf('1', { a: 'x' })]))).toEqual([]);
    expect(fake.requests.filter(isBatch)).toHaveLength(replies.length + 1);
    expect(loads(fake.requests)).toHaveLength(1);
    expect(statementsOf(fake)).toContain('if @@trancount > 0 rollback transaction;');
  });

  it('is given up as unavailable when the conflict does not end', async () => {
    await using fake = await startTdsFake(laneScript((request) => (isBatch(request) ? errors.deadlock : undefined)));
    await using destination = connectFake(fake);
    await destination.open(claim);
    await expect(destination.apply(batchOf([rowOf('1')]))).rejects.toMatchObject({ code: 'destination_unavailable' });
    expect(fake.requests.filter(isBatch)).toHaveLength(6);
  });

  it.each([
    ['check', { checks: [1, 6] }, 'refused by constraint "small" (error 547)'],
    ['duplicate', { taken: [1, 6] }, 'refused as a duplicate by constraint "one_n" (error 2627)'],
  ])(
    'leaves out the rows that the server refuses (%s), found by trials that write nothing',
    async (_, refusing, message) => {
      await using fake = await startTdsFake(refusingScript(refusing, { tellsRules: false }));
      await using destination = connectFake(fake);
      await destination.open(claim);
      const rows = Array.from({ length: 9 }, (_row, n) => rowOf(String(n), { n }));
      const rejected = await destination.apply(batchOf(rows));
      expect(rejected).toEqual([
        { index: 1, externalId: '1', message },
        { index: 6, externalId: '6', message },
      ]);
      const commit = fake.requests.filter(isBatch).at(-1);
      expect(fake.requests.at(-1)).toBe(commit);
      expect(commit?.values['receipt']).toBe(receiptOf(rejected));
      const trials = fake.requests.filter(isTrials);
      expect(trials.length).toBeGreaterThan(0);
      expect(trials.every((request) => request.kind !== 'load' && !/commit/.test(request.sql))).toBe(true);
      expect(loads(fake.requests)).toHaveLength(1);
    },
  );

  it('leaves out in mode update the records that have no row yet, and awaits them', async () => {
    let batches = 0;
    await using fake = await startTdsFake(
      laneScript((request) => {
        if (isBatch(request)) return [{ outcome: batches++ === 0 ? 'untouched' : 'written' }];
        const sql = request.kind === 'load' ? '' : request.sql;
        return sql.includes('select n, issue') ? [{ n: 1, issue: -1, reason: null }] : undefined;
      }),
    );
    await using destination = connectFake(fake);
    await destination.open(claimOf('dbo', { mode: 'update', columns: [columnOf('a', 'text')] }));
    const rejected = await destination.apply(batchOf(['1', '2', '3'].map((id) => rowOf(id, { a: 'x' }))));
    expect(rejected).toMatchObject([
      { index: 1, externalId: '2', message: expect.stringContaining('no row of this record yet'), isAwaited: true },
    ]);
    expect(fake.requests.filter(isBatch).at(-1)?.values['receipt']).toBe(receiptOf(rejected));
    expect(statementsOf(fake)).toContainEqual(expect.stringContaining('update r set issue = -1 from #rows as r'));
  });

  it('is refused as a whole when a record that is gone is kept, and names the constraint', async () => {
    await using fake = await startTdsFake(
      laneScript((request) => {
        if (isTrials(request))
          return [{ outcome: 'written', decided: 1, next_step: 1, failed_upto: 0, last_refused: 0 }];
        return isBatch(request) && request.sql.includes('delete t') ? errors.reference : undefined;
      }),
    );
    await using destination = connectFake(fake);
    await destination.open(claim);
    const batch = batchOf([rowOf('1')], { tombstones: [{ externalId: '2', effect: 'hard' }] });
    await expect(destination.apply(batch)).rejects.toMatchObject({
      code: 'destination_rejected',
      message: expect.stringContaining('"still_used"'),
    });
  });

  it.each([
    ['a later attempt holds the lane', [], 'fenced'],
    ['it was applied already', [{ is_applied: 1 }], 'fenced'],
    ['what its run has gathered is gone', [{ is_applied: 0 }], 'destination_rejected'],
  ])('is not written when %s', async (_, held, code) => {
    await using fake = await startTdsFake(
      laneScript((request) => {
        if (request.kind === 'statements' && request.sql.includes('is_applied')) return held;
        return isBatch(request) ? [{ outcome: 'lost' }] : undefined;
      }),
    );
    await using destination = connectFake(fake);
    await destination.open(claim);
    await expect(destination.apply(batchOf([rowOf('1')]))).rejects.toMatchObject({ code });
  });

  it.each([
    ['a text ends in a space', 'a '],
    ['an id is longer than its column', 'x'.repeat(451)],
    ['no text can hold it', 'a\0'],
  ])('leaves out a record of whose id %s', async (_, externalId) => {
    await using fake = await startTdsFake(laneScript());
    await using destination = connectFake(fake);
    await destination.open(claim);
    const rejected = await destination.apply(batchOf([rowOf(externalId), rowOf('x'.repeat(450))]));
    expect(rejected).toMatchObject([{ index: 0, externalId, message: expect.stringMatching(/^The record id /) }]);
  });
});

describe('tables', () => {
  it('are created under a lock, by one statement at a time', async () => {
    const made: string[] = [];
    await using fake = await startTdsFake(
      laneScript((request) => {
        if (request.kind === 'load') return undefined;
        if (/^\s*(create|alter|select .* into)/.test(request.sql)) made.push(request.sql.trim());
        if (request.sql.includes('select schema_id(@schema)') && made.length === 0) return [{ id: null }];
        return request.sql.includes('from sys.objects') && made.length === 1 ? [] : undefined;
      }),
    );
    await using destination = connectFake(fake);
    await destination.open(claimOf('shop', { columns }));
    expect(made.map(firstWords)).toEqual([
      'create schema "shop";',
      'create table "shop"."_css_checkpoint" ( lane',
      'create table "shop"."_css_tables" ( table_name',
      'create table "shop"."_css_columns" ( table_id',
      'create table "shop"."items" (_connection_id nvarchar(100)',
    ]);
    const statements = statementsOf(fake);
    expect(statements.filter((sql) => sql === 'begin transaction;')).toHaveLength(2);
    expect(statements.filter((sql) => sql.includes('sp_getapplock'))).toHaveLength(2);
    expect(statements.filter((sql) => sql === 'commit transaction;')).toHaveLength(2);
  });

  it('get a column for each new field, one at a time, and a note of what it holds', async () => {
    await using fake = await startTdsFake(laneScript());
    await using destination = connectFake(fake);
    await destination.open(claim);
    // The scripted server does not grow the columns, which shows as their being removed again.
    await expect(destination.apply(batchOf([rowOf('1', { o: { x: 1 }, t: 'x' })]))).rejects.toMatchObject({
      code: 'destination_unavailable',
    });
    const changes = statementsOf(fake).filter((sql) => /alter table|insert into/.test(sql) && !sql.includes('@'));
    expect(changes.map(firstWords)).toEqual([
      'alter table "dbo"."items" add "o"',
      `delete from "dbo"."_css_columns" where table_id`,
      'alter table "dbo"."items" add "t"',
      `delete from "dbo"."_css_columns" where table_id`,
    ]);
    expect(changes[1]).toContain(`N'o', N'json', 0`);
  });
});

it('sends nothing that Babelfish or an old server does not know, and no prepared handles', async () => {
  await using fake = await startTdsFake(laneScript());
  for (const mode of ['upsert', 'update', 'replace'] as const) {
    await using destination = connectFake(fake);
    await destination.open(claimOf('dbo', { mode, columns })).catch(() => undefined);
    const tombstones = [{ externalId: '9', effect: 'soft' }] as const;
    await destination.apply(batchOf([rowOf('1', { a: 'x' })], { tombstones })).catch(() => undefined);
  }
  expect(statementsOf(fake).join('\n')).not.toMatch(
    /\bmerge\b|\bwaitfor\b|key_constraints|string_agg|openjson|\bgo\b|sp_prep|output inserted/i,
  );
});

/** Drivers differ in whether they put the name of a temporary table in brackets. */
const firstWords = (sql: string): string =>
  sql
    .trim()
    .replace(/\[(#\w+)\]/, '$1')
    .split(/\s+/)
    .slice(0, 5)
    .join(' ');
