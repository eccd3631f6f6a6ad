import type { Column, TargetTable } from '../destination.ts';
import { quoted } from '../sql/identifiers.ts';
import { postgresType } from './column-sql.ts';
import type { StoredColumn } from './table.ts';

const recordKey = 'primary key (_connection_id, _external_id)';

/**
 * One row per record, in mode append one per version, ordered by `_seq`. Every column allows null: a later version of the spec
 * may stop filling it.
 */
export function createTableSql(table: string, { mode, columns }: Pick<TargetTable, 'mode' | 'columns'>): string[] {
  const isAppend = mode === 'append';
  const definitions = [
    ...(isAppend ? ['_seq bigint generated always as identity primary key'] : []),
    '_connection_id text not null',
    '_external_id text not null',
    '_run_id text not null',
    '_synced_at timestamptz not null',
    '_deleted_at timestamptz',
    ...columns.map(columnSql),
    ...(isAppend ? [] : [recordKey]),
  ];
  const create = `create table ${table} (${definitions.join(', ')})`;
  return isAppend ? [create, `create index on ${table} (_connection_id, _external_id)`] : [create];
}

/** Both tables refuse the same rows. */
export const recreateNextSql = (next: string, table: string): string[] => [
  `drop table if exists ${next}`,
  `create table ${next} (like ${table} including defaults including constraints including generated
     including identity, ${recordKey})`,
];

export const addColumnsSql = (table: string, columns: readonly Column[]): string =>
  `alter table ${table} ${columns.map((column) => `add column if not exists ${columnSql(column)}`).join(', ')}`;

export const copyColumnsSql = (table: string, columns: readonly StoredColumn[]): string =>
  `alter table ${table} ${columns.map(({ name, type }) => `add column if not exists ${quoted(name)} ${type}`).join(', ')}`;

const columnSql = ({ name, type }: Column): string => `${quoted(name)} ${postgresType(type)}`;
