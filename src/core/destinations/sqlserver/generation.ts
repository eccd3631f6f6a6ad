import { quoted, tableSql } from '../sql/identifiers.ts';
import type { SqlServerFields } from './fields.ts';
import type { SqlServerTable } from './schema.ts';

/** The rows were gathered by a run that never completed. */
export const clearGenerationSql = ({ schema, written }: SqlServerTable): string =>
  `delete from ${tableSql(schema, written)} where _connection_id = @connection;`;

/**
 * Rows that stay are updated only in the columns that the lane writes. Other columns belong to the customer or another resource,
 * and references to the rows stay valid. Readers see the change at the commit.
 */
export function switchGenerationSql({ prepared, writers }: SqlServerFields): string {
  const { schema, stored, written } = prepared;
  const [table, next] = [tableSql(schema, stored.name), tableSql(schema, written)];
  const own = ['_run_id', '_synced_at', '_deleted_at', ...writers.map(({ name }) => name)].map(quoted);
  const names = ['_connection_id', '_external_id', ...own].join(', ');
  const isSame =
    't._connection_id = @connection and n._connection_id = @connection and t._external_id = n._external_id';
  return `
    delete t from ${table} as t where t._connection_id = @connection
      and not exists (select 1 from ${next} as n where ${isSame});
    update t set ${own.map((name) => `${name} = n.${name}`).join(', ')}
      from ${table} as t inner join ${next} as n on ${isSame};
    insert into ${table} (${names}) select ${names} from ${next} as n
      where n._connection_id = @connection and not exists (select 1 from ${table} as t where ${isSame});
    ${clearGenerationSql(prepared)}`;
}
