import { AppError } from '../../errors.ts';
import { quoted, tableSql } from '../sql/identifiers.ts';
import { wholeRefused } from './errors.ts';
import type { PostgresFields } from './fields.ts';
import type { PostgresTable } from './schema.ts';
import type { Session } from './session.ts';
import { isUntouched, touchedSql } from './untouched.ts';

interface Generation {
  readonly prepared: PostgresTable;
  readonly connectionId: string;
}

/** The rows were gathered by a run that never completed. */
export async function clearGeneration(session: Session, { prepared, connectionId }: Generation): Promise<void> {
  const { schema, written } = prepared;
  await session.queryAll(`delete from ${tableSql(schema, written)} where _connection_id = $1`, [connectionId]);
}

interface Completed extends Pick<Generation, 'connectionId'> {
  readonly map: PostgresFields;
}

/**
 * Rows that stay are updated only in the columns that the lane writes. Other columns belong to the customer or another resource,
 * and references to the rows stay valid. Readers see the change at the commit. Throws `destination_rejected` when a constraint,
 * trigger or policy of the customer prevents it.
 */
export async function switchGeneration(session: Session, { map, connectionId }: Completed): Promise<void> {
  try {
    // A deferred foreign key allows rows to be missing for a moment.
    await session.queryAll('set constraints all deferred');
    for (const sql of switchSql(map)) await session.queryAll(sql, [connectionId]);
    await session.queryAll('set constraints all immediate', []);
    await clearGeneration(session, { prepared: map.prepared, connectionId });
  } catch (error) {
    throw isUntouched(error) ? rowsKept() : wholeRefused(error, 'The table does not allow its rows to be replaced');
  }
}

/** Fails unless all rows were deleted, updated and inserted. */
function switchSql({ prepared: { schema, stored, written }, writers }: PostgresFields): readonly string[] {
  const [table, next] = [tableSql(schema, stored.name), tableSql(schema, written)];
  const own = ['_run_id', '_synced_at', '_deleted_at', ...writers.map(({ name }) => name)].map(quoted);
  const names = ['_connection_id', '_external_id', ...own].join(', ');
  const isSame = 't._connection_id = n._connection_id and t._external_id = n._external_id';
  const isMissing = `t._connection_id = $1 and not exists (select from ${next} as n where ${isSame})`;
  const isNew = (more: string) =>
    `n._connection_id = $1 and not exists (select from ${table} as t where ${isSame}${more})`;
  const isKept = [
    `not exists (select from ${table} as t where ${isMissing})`,
    `not exists (select from ${next} as n where ${isNew(' and t._run_id = n._run_id and t._synced_at = n._synced_at')})`,
  ];
  return [
    `delete from ${table} as t where ${isMissing}`,
    `update ${table} as t set ${own.map((name) => `${name} = n.${name}`).join(', ')}
     from ${next} as n where n._connection_id = $1 and ${isSame}`,
    `insert into ${table} (${names}) select ${names} from ${next} as n where ${isNew('')}`,
    `select ${touchedSql(isKept)}`,
  ];
}

const rowsKept = (): AppError =>
  new AppError(
    'destination_rejected',
    'The table does not allow its rows to be replaced: a trigger, rule or row policy keeps some of them. Nothing was changed; correct it.',
  );
