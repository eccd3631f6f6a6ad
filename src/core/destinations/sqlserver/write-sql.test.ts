import { describe, expect, it } from 'vitest';
import { expectInOrder, onOneLine, preparedFor, writers } from '../../../../test/support/sqlserver/written-table.ts';
import type { WriteMode } from '../destination.ts';
import { trialsSql } from './trial-sql.ts';
import { type BatchSteps, batchSql } from './write-sql.ts';

function sqlOf(mode: WriteMode, steps: Partial<BatchSteps> = {}): string {
  const prepared = preparedFor(mode);
  const none = { rows: { writers }, deletes: null, opensGeneration: false, completes: null };
  return onOneLine(batchSql({ prepared, ...none, ...steps }));
}

describe('the request of a batch', () => {
  it('claims the checkpoint row before it writes anything', () => {
    expectInOrder(
      sqlOf('upsert'),
      'begin transaction;',
      'update "dbo"."_css_checkpoint" set run_id = @run, batch_no = @batch, receipt = @receipt',
      'where lane = @lane and fence = cast(@fence as bigint) and (run_id is null or run_id <> @run or batch_no < @batch)',
      'if @@rowcount = 1',
      'update t set _run_id = @run',
      `if @outcome = N'written' commit transaction; else rollback transaction;`,
    );
  });

  it('updates the rows that are there and inserts the others, with the keys locked', () => {
    expectInOrder(
      sqlOf('upsert'),
      'update t set _run_id = @run, _synced_at = @now, _deleted_at = null, "a" = r.c1 collate Latin1_General_100_BIN2, ' +
        '"Order" = cast(r.c2 as decimal(18,4)), "f" = r.c3 from #rows as r inner loop join "dbo"."items" as t ' +
        'with (forceseek, updlock, serializable) on t._connection_id = @connection and t._external_id = r.external_id ' +
        'where r.issue is null and r.n >= @at and r.n < @next;',
      'insert into "dbo"."items" (_connection_id, _external_id, _run_id, _synced_at, _deleted_at, "a", "Order", "f")',
      'not exists ( select 1 from "dbo"."items" as t with (forceseek, updlock, serializable)',
      'option (loop join);',
      `set @outcome = N'race'`,
    );
  });

  it('keeps in mode update what a record does not give, and inserts nothing', () => {
    const sql = sqlOf('update');
    expect(sql).toContain(
      `"Order" = case when substring(r.given, 2, 1) = N'1' then cast(r.c2 as decimal(18,4)) else t."Order" end`,
    );
    expect(sql).not.toContain('insert into');
  });

  it('counts in mode update the rows that it has touched', () => {
    expectInOrder(
      sqlOf('update'),
      'update t set',
      'set @written = @written + @@rowcount;',
      `set @outcome = N'untouched'`,
    );
  });

  it('numbers in mode append the versions in their order', () => {
    const sql = sqlOf('append');
    expect(sql).toContain('order by r.n;');
    expect(sql).not.toContain('update t');
  });

  it('marks and removes after the rows', () => {
    expectInOrder(
      sqlOf('upsert', { deletes: { cleared: ['a'] } }),
      'insert into "dbo"."items"',
      'update t set _deleted_at = @now, _run_id = @run, _synced_at = @now from #deleted as g inner loop join "dbo"."items"',
      'delete t from #deleted as g inner loop join "dbo"."items" as t',
    );
  });

  it('gathers in mode replace in a table of its own, and switches with the last batch', () => {
    expectInOrder(
      sqlOf('replace', { opensGeneration: true, completes: { writers } }),
      `and table_id = object_id(N'dbo._css_next_items');`,
      'delete from "dbo"."_css_next_items" where _connection_id = @connection;',
      'insert into "dbo"."_css_next_items" (',
      'delete t from "dbo"."items" as t where t._connection_id = @connection and not exists',
      'update t set "_run_id" = n."_run_id"',
      'insert into "dbo"."items" (_connection_id, _external_id,',
    );
  });

  it('writes no more rows or tombstones by one statement than take 5,000 locks of one kind', () => {
    const sql = sqlOf('upsert', { deletes: { cleared: ['a'] } });
    for (const count of ['@upto', '@deleted']) {
      const loop = `set @at = 0; while @at < ${count} begin set @next = case when ${count} - @at > 2000 then @at + 2000 else ${count} end;`;
      expect(sql).toContain(loop);
    }
    expect(sql.split('set @at = @next; end;')).toHaveLength(3);
    const statements = sql
      .split(';')
      .filter((statement) => /#(rows|deleted) as/.test(statement) && !/count/.test(statement));
    expect(statements).toHaveLength(4);
    for (const statement of statements) expect(statement).toMatch(/\b[rg]\.n >= @at and [rg]\.n < @next/);
  });

  it('finds each record by its key and never by a scan, which would lock the records of others', () => {
    const isLookup = (sql: string) => /(from|join) "dbo"\."items" as t/.test(sql);
    for (const mode of ['upsert', 'update'] as const) {
      const statements = sqlOf(mode, { deletes: { cleared: ['a'] } })
        .split(';')
        .filter(isLookup);
      expect(statements.length).toBeGreaterThan(1);
      for (const statement of statements) {
        expect(statement).toMatch(
          /inner loop join "dbo"\."items" as t with \(forceseek|option \(loop join\)|not exists/,
        );
        expect(statement).toMatch(
          /with \(forceseek.*t\._connection_id = @connection and t\._external_id = [rg]\.external_id/,
        );
      }
    }
  });
});

describe('the request of trials', () => {
  it('commits nothing, and knows neither tombstones nor the switch', () => {
    const sql = trialsSql({ prepared: preparedFor('upsert'), writers, opensGeneration: false });
    expect(sql).not.toMatch(/commit|#deleted/);
    expect(sql).toContain('rollback transaction;\n    end try');
  });
});
