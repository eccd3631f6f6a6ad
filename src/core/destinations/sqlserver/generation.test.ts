import { expect, it } from 'vitest';
import { expectInOrder, onOneLine, preparedFor, writers } from '../../../../test/support/sqlserver/written-table.ts';
import { clearGenerationSql, switchGenerationSql } from './generation.ts';

it('replaces the rows of one connection by what differs, in the columns that the lane writes', () => {
  expectInOrder(
    onOneLine(switchGenerationSql({ prepared: preparedFor('replace'), writers: writers.slice(0, 1) })),
    'delete t from "dbo"."items" as t where t._connection_id = @connection and not exists (select 1 from "dbo"."_css_next_items" as n',
    'update t set "_run_id" = n."_run_id", "_synced_at" = n."_synced_at", "_deleted_at" = n."_deleted_at", "a" = n."a" from',
    'insert into "dbo"."items" (_connection_id, _external_id, "_run_id", "_synced_at", "_deleted_at", "a") select',
    'delete from "dbo"."_css_next_items" where _connection_id = @connection;',
  );
});

it('clears only what a connection has gathered', () => {
  const sql = 'delete from "dbo"."_css_next_items" where _connection_id = @connection;';
  expect(clearGenerationSql(preparedFor('replace'))).toBe(sql);
});
