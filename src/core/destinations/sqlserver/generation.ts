import { quoted, tableSql } from '../sql/identifiers.ts';
import type { SqlServerTable } from './schema.ts';

/** Deletes what a run that never completed has gathered. */
export const clearGenerationSql = ({ schema, written }: SqlServerTable): string =>
  `delete from ${tableSql(schema, written)} where _connection_id = @connection;`;

/** Replaces the connection's rows with those that the run has gathered, visible to readers at the commit. */
export function switchGenerationSql(prepared: SqlServerTable): string {
  const { schema, stored, written } = prepared;
  const [table, next] = [tableSql(schema, stored.name), tableSql(schema, written)];
  const names = stored.columns
    .filter(({ generated }) => !generated)
    .map(({ name }) => quoted(name))
    .join(', ');
  return `
    delete from ${table} where _connection_id = @connection;
    insert into ${table} (${names}) select ${names} from ${next} where _connection_id = @connection;
    ${clearGenerationSql(prepared)}`;
}
