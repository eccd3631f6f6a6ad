import type { Column, TargetTable } from '../destination.ts';
import { quoted, tableSql } from '../sql/identifiers.ts';
import { sqlServerType } from './column-sql.ts';
import type { StoredColumn, StoredRules, StoredTable } from './table.ts';

/** Case and accents distinguish keys, independent of the database's own rules. */
export const keyCollation = 'Latin1_General_100_BIN2';

/** UTF-16 units. */
export const externalIdLengthMax = 450;

/** Not clustered: both columns together exceed the 900 bytes of a clustered key; another key may have 1,700. */
const recordKey = 'primary key nonclustered (_connection_id, _external_id)';

/**
 * One row per record, in mode append one per version, ordered by `_seq`. Every column allows null: a later version of the spec
 * may stop filling it.
 */
export function createTableSql(table: string, { mode, columns }: Pick<TargetTable, 'mode' | 'columns'>): string[] {
  const isAppend = mode === 'append';
  const definitions = [
    ...(isAppend ? ['_seq bigint identity(1, 1) not null primary key'] : []),
    `_connection_id nvarchar(100) collate ${keyCollation} not null`,
    `_external_id nvarchar(${externalIdLengthMax}) collate ${keyCollation} not null`,
    '_run_id nvarchar(100) not null',
    '_synced_at datetimeoffset(7) not null',
    '_deleted_at datetimeoffset(7) null',
    ...columns.map(columnSql),
    ...(isAppend ? [] : [recordKey]),
  ];
  const create = `create table ${table} (${definitions.join(', ')});`;
  const index = `create index _css_records on ${table} (_connection_id, _external_id);`;
  return isAppend ? [create, index] : [create];
}

export const dropTableSql = (table: string): string => `drop table if exists ${table};`;

/** Babelfish adds one column at a time. */
export const addColumnSql = (table: string, column: Column): string => `alter table ${table} add ${columnSql(column)};`;

const columnSql = ({ name, type }: Column): string => `${quoted(name)} ${sqlServerType(type)} null`;

/** `null` if the service does not make such columns, or if only a copy of the whole table keeps the column's database rules. */
export function copyColumnSql(table: string, column: StoredColumn, { checks }: StoredRules): string | null {
  const { name, typeName, nullable, hasDefault } = column;
  const type = copiedTypes.get(typeName)?.(column);
  const isRuled = !nullable || hasDefault || checks.some(({ definition }) => definition.includes(name));
  return type === undefined || isRuled ? null : `alter table ${table} add ${quoted(name)} ${type} null;`;
}

const copiedTypes = new Map<string, (column: StoredColumn) => string>([
  ['nvarchar', ({ length }) => `nvarchar(${length < 0 ? 'max' : length})`],
  ['decimal', ({ precision, scale }) => `decimal(${precision},${scale})`],
  ['float', () => 'float(53)'],
  ['datetimeoffset', ({ scale }) => `datetimeoffset(${scale})`],
  ...['int', 'bigint', 'bit', 'date', 'uniqueidentifier'].map((name) => [name, () => name] as const),
]);

export interface NextTable {
  readonly next: string;
  readonly stored: StoredTable;
  readonly rules: StoredRules;
}

/**
 * Both tables refuse the same rows. A check's copy is named after it: names are unique within a schema. Checks of computed
 * columns wait for the switch.
 */
export function recreateNextSql(schema: string, { next, stored, rules }: NextTable): string[] {
  const name = tableSql(schema, next);
  const names = stored.columns.filter(({ generated }) => !generated).map((column) => quoted(column.name));
  const computed = stored.columns.filter(({ generated }) => generated).map((column) => column.name);
  const checks = rules.checks.filter(({ definition }) => !computed.some((column) => definition.includes(column)));
  return [
    dropTableSql(name),
    `select ${names.join(', ')} into ${name} from ${tableSql(schema, stored.name)} where 1 = 0;`,
    `alter table ${name} add ${recordKey};`,
    ...checks.map(
      (check) => `alter table ${name} add constraint ${quoted(copyName(check.name))} check ${check.definition};`,
    ),
    ...rules.defaults.map(
      ({ columnName, definition }) => `alter table ${name} add default ${definition} for ${quoted(columnName)};`,
    ),
  ];
}

const copyName = (name: string): string => `_css_next_${name}`.slice(0, 128);
