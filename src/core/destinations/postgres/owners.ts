import { ownersName, textSql } from '../sql/identifiers.ts';
import type { Session } from './session.ts';

interface NamedTable {
  readonly schema: string;
  readonly table: string;
}

export const createOwnersSql = (schema: string): string => `
  create table if not exists ${ownersName(schema)} (
    table_name text primary key,
    org_id text not null,
    recorded_at timestamptz not null)`;

/** Replaces the row of a dropped table of the same name. */
export const ownSql = (table: NamedTable, orgId: string): string =>
  `${insertSql(table, orgId)} on conflict (table_name) do update set org_id = excluded.org_id, recorded_at = excluded.recorded_at`;

export const takeSql = (table: NamedTable, orgId: string): string =>
  `${insertSql(table, orgId)} on conflict (table_name) do nothing`;

const insertSql = ({ schema, table }: NamedTable, orgId: string): string =>
  `insert into ${ownersName(schema)} (table_name, org_id, recorded_at) values (${textSql(table)}, ${textSql(orgId)}, now())`;

export async function readOwner(session: Session, { schema, table }: NamedTable): Promise<string | null> {
  const [row] = await session.query<'orgId'>(
    `select org_id as "orgId" from ${ownersName(schema)} where table_name = $1`,
    [table],
  );
  return row?.orgId ?? null;
}
