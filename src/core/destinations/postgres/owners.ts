import { ownersName, textSql } from '../sql/identifiers.ts';
import type { Session } from './session.ts';

interface NamedTable {
  readonly schema: string;
  readonly table: string;
}

/** Creates the table that names the org of each table of its schema. */
export const createOwnersSql = (schema: string): string => `
  create table if not exists ${ownersName(schema)} (
    table_name text primary key,
    org_id text not null,
    recorded_at timestamptz not null)`;

/** Records a new table for an org, in place of one of its name that was dropped. */
export const ownSql = (table: NamedTable, orgId: string): string =>
  `${insertSql(table, orgId)} on conflict (table_name) do update set org_id = excluded.org_id, recorded_at = excluded.recorded_at`;

/** Records a table for an org, unless it is recorded. */
export const takeSql = (table: NamedTable, orgId: string): string =>
  `${insertSql(table, orgId)} on conflict (table_name) do nothing`;

const insertSql = ({ schema, table }: NamedTable, orgId: string): string =>
  `insert into ${ownersName(schema)} (table_name, org_id, recorded_at) values (${textSql(table)}, ${textSql(orgId)}, now())`;

/** The org that a table is recorded for; null: none. */
export async function readOwner(session: Session, { schema, table }: NamedTable): Promise<string | null> {
  const [row] = await session.query<{ readonly orgId: string }>(
    `select org_id as "orgId" from ${ownersName(schema)} where table_name = $1`,
    [table],
  );
  return row?.orgId ?? null;
}
