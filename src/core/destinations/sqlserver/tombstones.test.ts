import { expect, it } from 'vitest';
import { onOneLine, preparedFor } from '../../../../test/support/sqlserver/written-table.ts';
import { deleteSql } from './tombstones.ts';

it('a tombstone marks every version in mode append, and changes the origin of none', () => {
  expect(onOneLine(deleteSql(preparedFor('append'), []))).toContain('update t set _deleted_at = @now from');
});

it("a tombstone in mode append needs no index, which a customer's own table of versions may not have", () => {
  expect(deleteSql(preparedFor('append'), [])).not.toContain('forceseek');
  expect(deleteSql(preparedFor('upsert'), [])).toContain('forceseek');
});

it("a tombstone in mode update leaves the row, which is another resource's, and empties the columns of its own", () => {
  const sql = onOneLine(deleteSql(preparedFor('update'), ['a', 'Order']));
  expect(sql).toContain(
    'update t set _run_id = @run, _synced_at = @now, "a" = null, "Order" = null from #deleted as g',
  );
  expect(sql).not.toMatch(/delete t|_deleted_at/);
});
