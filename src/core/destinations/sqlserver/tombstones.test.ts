import { expect, it } from 'vitest';
import { onOneLine, preparedFor } from '../../../../test/support/sqlserver/written-table.ts';
import { deleteSql } from './tombstones.ts';

it('marks every version in mode append without changing its origin', () => {
  expect(onOneLine(deleteSql(preparedFor('append')))).toContain('update t set _deleted_at = @now from');
});

it("does without an index in mode append, which a customer's own table of versions may not have", () => {
  expect(deleteSql(preparedFor('append'))).not.toContain('forceseek');
  expect(deleteSql(preparedFor('upsert'))).toContain('forceseek');
});
