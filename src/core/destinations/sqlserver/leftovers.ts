import type { LeftoverPage } from '../destination.ts';
import { tableSql } from '../sql/identifiers.ts';
import type { HeldFields } from '../sql/sql-destination.ts';
import type { Session } from './driver/session.ts';
import type { SqlServerFields } from './fields.ts';

/** The primary key gives the order, in mode append the index of records. */
export async function findLeftovers(
  session: Session,
  { claim, fields }: HeldFields<SqlServerFields>,
  { after, limit }: LeftoverPage,
): Promise<readonly string[]> {
  const { schema, written, mode } = fields.prepared;
  const rows = await session.query<{ readonly id: string }>(
    `select ${mode === 'append' ? 'distinct' : ''} top (@limit) _external_id as id from ${tableSql(schema, written)}
     where _connection_id = @connection and _deleted_at is null ${after === null ? '' : 'and _external_id > @after'}
     order by _external_id;`,
    { connection: claim.connectionId, limit, ...(after !== null && { after }) },
  );
  return rows.map(({ id }) => id);
}
