import { expect, it } from 'vitest';
import { onOneLine, preparedFor } from '../../../../test/support/sqlserver/written-table.ts';
import { deleteSql } from './tombstones.ts';

it('a tombstone marks every version in mode append, and changes the origin of none', () => {
  expect(onOneLine(deleteSql(preparedFor('append')))).toContain('update t set _deleted_at = @now from');
});

it("a tombstone in mode append needs no index, which a customer's own table of versions may not have", () => {
  expect(deleteSql(preparedFor('append'))).not.toContain('forceseek');
  expect(deleteSql(preparedFor('upsert'))).toContain('forceseek');
});
