import { AppError } from '../../errors.ts';
import type { ColumnType } from '../../spec/schema/column-type.ts';
import type { Column, TargetTable, WriteMode } from '../destination.ts';
import { checkpointName, quoted, shownName, tableSql } from './identifiers.ts';

export interface CheckedTable {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly typeName: string; readonly generated: boolean }[];
  /** Columns of each unique key, sorted. */
  readonly keys: readonly (readonly string[])[];
}

export interface Purpose {
  readonly schema: string;
  readonly mode: WriteMode;
}

const recordKey = '_connection_id,_external_id';
const versionKey = '_seq';

/**
 * Throws `destination_rejected` unless the table can keep rows as the mode says.
 *
 * @param hasColumns the table has the service's columns, of usable types.
 */
export function checkPurpose(table: CheckedTable, hasColumns: boolean, { schema, mode }: Purpose): void {
  const name = tableSql(schema, table.name);
  const keys = table.keys.map((key) => key.join());
  const [wanted, other] = mode === 'append' ? [versionKey, recordKey] : [recordKey, versionKey];
  const isOurs = hasColumns && (keys.includes(wanted) || keys.includes(other));
  if (!isOurs) {
    throw new AppError(
      'destination_rejected',
      `${name} exists and was not made by this service: it lacks _run_id, _synced_at, _deleted_at or the unique key ` +
        `${keySql(wanted)}. It was not changed; choose another target.table or rename it.`,
    );
  }
  const isNumbered = table.columns.some((column) => column.name === versionKey && column.generated);
  if (mode === 'append' ? isNumbered && !keys.includes(recordKey) : keys.includes(recordKey)) return;
  throw new AppError(
    'destination_rejected',
    `${name} exists and was made for another target.mode: ${keySql(wanted)} is not its key, which mode ${mode} ` +
      `needs. It was not changed; set target.mode to ${mode === 'append' ? 'its earlier value' : 'append'}, choose another ` +
      'target.table or rename it.',
  );
}

const keySql = (key: string): string => `(${key.replace(',', ', ')})`;

/** `texts` are the types allowed for the service's texts. */
export function hasOurColumns(columns: CheckedTable['columns'], texts: readonly string[]): boolean {
  const types = new Map(columns.map(({ name, typeName }) => [name, typeName]));
  return (
    ['_connection_id', '_external_id', '_run_id'].every((name) => texts.includes(types.get(name) ?? '')) &&
    types.has('_synced_at') &&
    types.has('_deleted_at')
  );
}

interface TypeRules<Stored> {
  /** Whether the column stores every value of the type unchanged. */
  readonly keepsValues: (column: Stored, type: ColumnType) => boolean;
  readonly storedType: (column: Stored) => string;
  readonly wantedType: (type: ColumnType) => string;
}

export interface WantedColumns {
  readonly schema: string;
  readonly columns: readonly Column[];
}

/** Throws `destination_rejected` for a column whose type would change the values that the spec's type describes. */
export function checkColumnTypes<Stored extends CheckedTable['columns'][number]>(
  table: { readonly name: string; readonly columns: readonly Stored[] },
  { schema, columns }: WantedColumns,
  { keepsValues, storedType, wantedType }: TypeRules<Stored>,
): void {
  const stored = new Map(table.columns.map((column) => [column.name, column]));
  for (const { name, type } of columns) {
    const column = stored.get(name);
    if (!column || keepsValues(column, type)) continue;
    throw new AppError(
      'destination_rejected',
      `The column ${quoted(name)} of ${tableSql(schema, table.name)} is ${storedType(column)}, and the spec says ` +
        `${wantedType(type)}. Nothing was changed; alter the column, or set target.columns.${name}.type to the type of the column.`,
    );
  }
}

/** With `evolve: none` an existing table stays as it is. Names that differ only in case are never both created. */
export function missingColumns(table: CheckedTable, target: TargetTable): readonly Column[] {
  const names = new Set(table.columns.map(({ name }) => name));
  const lowerNames = new Set(table.columns.map(({ name }) => name.toLowerCase()));
  const missing = target.columns.filter(({ name }) => !names.has(name));
  const twin = missing.find(({ name }) => lowerNames.has(name.toLowerCase()));
  if (twin) {
    const message = `The table has a column that differs from ${shownName(twin.name)} only in case; use its spelling.`;
    throw new AppError('destination_rejected', message);
  }
  return target.evolve === 'none' ? [] : missing;
}

/** False for a checkpoint table of an earlier version of the service. */
export const hasGeneration = ({ columns }: Pick<CheckedTable, 'columns'>): boolean =>
  columns.some(({ name }) => name === 'generation');

/** Throws `destination_rejected` when another table has taken the checkpoint table's name. */
export function checkCheckpointTable(table: CheckedTable, schema: string, columns: readonly string[]): void {
  const names = new Set(table.columns.map((column) => column.name));
  if (columns.every((column) => names.has(column)) && table.keys.some((key) => key.join() === 'lane')) return;
  throw new AppError(
    'destination_rejected',
    `${checkpointName(schema)} exists and does not belong to this service; rename it or choose another schema.`,
  );
}
