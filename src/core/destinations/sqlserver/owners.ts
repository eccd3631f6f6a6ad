import { ownersName, textSql } from '../sql/identifiers.ts';
import { nowSql } from './checkpoint.ts';
import type { Session } from './driver/session.ts';

interface NamedTable {
  readonly schema: string;
  readonly table: string;
}

/** Creates the table that names the org of each table of its schema. Names are compared as the database compares them. */
export const createOwnersSql = (schema: string): string => `
  create table ${ownersName(schema)} (
    table_name nvarchar(128) not null primary key,
    org_id nvarchar(100) not null,
    recorded_at datetimeoffset(7) not null);`;

/** Records a new table for an org, in place of one of its name that was dropped. */
export const ownSql = (table: NamedTable, orgId: string): string[] => [
  `delete from ${ownersName(table.schema)} where table_name = N${textSql(table.table)};`,
  takeSql(table, orgId),
];

/** Records a table for an org; a duplicate key says that it is recorded. */
export const takeSql = ({ schema, table }: NamedTable, orgId: string): string =>
  `insert into ${ownersName(schema)} (table_name, org_id, recorded_at) values (N${textSql(table)}, N${textSql(orgId)}, ${nowSql});`;

/** The org that a table is recorded for; null: none. */
export async function readOwner(session: Session, { schema, table }: NamedTable): Promise<string | null> {
  const [row] = await session.query<{ readonly orgId: string }>(
    `select org_id as org_id from ${ownersName(schema)} where table_name = @table;`,
    { table },
  );
  return row?.orgId ?? null;
}
