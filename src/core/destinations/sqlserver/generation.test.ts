import { expect, it } from 'vitest';
import { expectInOrder, onOneLine, preparedFor } from '../../../../test/support/sqlserver/written-table.ts';
import { clearGenerationSql, switchGenerationSql } from './generation.ts';

it('replaces the rows of one connection, without the columns that the server fills', () => {
  expectInOrder(
    onOneLine(switchGenerationSql(preparedFor('replace'))),
    'delete from "dbo"."items" where _connection_id = @connection;',
    'insert into "dbo"."items" ("a", "Order", "f") select "a", "Order", "f" from "dbo"."_css_next_items"',
    'delete from "dbo"."_css_next_items" where _connection_id = @connection;',
  );
});

it('clears only what a connection has gathered', () => {
  const sql = 'delete from "dbo"."_css_next_items" where _connection_id = @connection;';
  expect(clearGenerationSql(preparedFor('replace'))).toBe(sql);
});
