import type { LeftoverPage } from '../destination.ts';
import { tableSql } from '../sql/identifiers.ts';
import type { HeldFields } from '../sql/sql-destination.ts';
import type { PostgresFields } from './fields.ts';
import { idsIn, type Session } from './session.ts';

/** The primary key gives the order, in mode append the index of records. */
export async function findLeftovers(
  session: Session,
  { claim, fields }: HeldFields<PostgresFields>,
  { after, limit }: LeftoverPage,
): Promise<readonly string[]> {
  const { schema, written, mode } = fields.prepared;
  const rows = await session.query<'id'>(
    `select ${mode === 'append' ? 'distinct' : ''} _external_id as id from ${tableSql(schema, written)}
     where _connection_id = $1 and _deleted_at is null ${after === null ? '' : 'and _external_id > $3'}
     order by _external_id limit $2`,
    [claim.connectionId, limit, ...(after === null ? [] : [after])],
  );
  return idsIn(rows);
}
