import { ownersName, textSql } from '../sql/identifiers.ts';
import { nowSql } from './checkpoint.ts';
import type { Session } from './driver/session.ts';

interface NamedTable {
  readonly schema: string;
  readonly table: string;
}

/** Names are compared as the database compares them. */
export const createOwnersSql = (schema: string): string => `
  create table ${ownersName(schema)} (
    table_name nvarchar(128) not null primary key,
    org_id nvarchar(100) not null,
    recorded_at datetimeoffset(7) not null);`;

/** Replaces the row of a dropped table of the same name. */
export const ownSql = (table: NamedTable, orgId: string): string[] => [
  `delete from ${ownersName(table.schema)} where table_name = N${textSql(table.table)};`,
  takeSql(table, orgId),
];

/** Fails with a duplicate key if the table is recorded. */
export const takeSql = ({ schema, table }: NamedTable, orgId: string): string =>
  `insert into ${ownersName(schema)} (table_name, org_id, recorded_at) values (N${textSql(table)}, N${textSql(orgId)}, ${nowSql});`;

export async function readOwner(session: Session, { schema, table }: NamedTable): Promise<string | null> {
  const [row] = await session.query<{ readonly orgId: string }>(
    `select org_id as org_id from ${ownersName(schema)} where table_name = @table;`,
    { table },
  );
  return row?.orgId ?? null;
}
