import { quoted, tableSql } from '../sql/identifiers.ts';
import type { SqlServerTable } from './schema.ts';
import { deletedTable, slicesSql } from './staging.ts';

/**
 * Mode append marks every version, and each keeps the run that brought it. In mode update the row is another resource's: only the
 * lane's own columns, `cleared`, become null.
 */
export function deleteSql({ schema, written, mode }: SqlServerTable, cleared: readonly string[]): string {
  const table = tableSql(schema, written);
  const origin = mode === 'append' ? '' : ', _run_id = @run, _synced_at = @now';
  // In mode append the customer's own table may have no index that starts with the record's id.
  const join = mode === 'append' ? `inner join ${table} as t` : `inner loop join ${table} as t with (forceseek)`;
  const found = `
    from ${deletedTable} as g ${join} on t._connection_id = @connection and t._external_id = g.external_id
    where g.n >= @at and g.n < @next`;
  const from = (isHard: number) => `${found} and g.is_hard = ${isHard}`;
  if (mode === 'update') {
    const nulls = cleared.map((name) => `, ${quoted(name)} = null`).join('');
    return slicesSql('@deleted', `update t set _run_id = @run, _synced_at = @now${nulls} ${found};`);
  }
  return slicesSql(
    '@deleted',
    `update t set _deleted_at = @now${origin} ${from(0)} and t._deleted_at is null;
      delete t ${from(1)};`,
  );
}
