import { quoted, tableSql } from '../sql/identifiers.ts';
import { wholeRefused } from './errors.ts';
import type { PostgresTable } from './schema.ts';
import type { Session } from './session.ts';

/** The rows of one connection in a table of mode replace. */
interface Generation {
  readonly prepared: PostgresTable;
  readonly connectionId: string;
}

/** Deletes what a run that never completed has gathered. */
export async function clearGeneration(session: Session, { prepared, connectionId }: Generation): Promise<void> {
  const { schema, written } = prepared;
  await session.queryAll(`delete from ${tableSql(schema, written)} where _connection_id = $1`, [connectionId]);
}

/**
 * Replaces the connection's rows with those that the run has gathered, visible to readers at the commit. Throws
 * `destination_rejected` when a constraint or trigger of the customer prevents it.
 */
export async function switchGeneration(session: Session, { prepared, connectionId }: Generation): Promise<void> {
  const { schema, stored, written } = prepared;
  const [table, next] = [tableSql(schema, stored.name), tableSql(schema, written)];
  const names = stored.columns.filter(({ generated }) => !generated).map(({ name }) => quoted(name));
  try {
    // A foreign key that is checked late allows that rows are away for a moment.
    await session.query('set constraints all deferred');
    await session.queryAll(`delete from ${table} where _connection_id = $1`, [connectionId]);
    await session.queryAll(
      `insert into ${table} (${names.join(', ')}) select ${names.join(', ')} from ${next} where _connection_id = $1`,
      [connectionId],
    );
    await session.queryAll('set constraints all immediate', []);
    await clearGeneration(session, { prepared, connectionId });
  } catch (error) {
    throw wholeRefused(error, 'The table does not allow its rows to be replaced');
  }
}
