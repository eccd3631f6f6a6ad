import type { ColumnType } from '../../spec/schema/column-type.ts';
import { checkColumnTypes, checkPurpose, hasOurColumns, type Purpose, type WantedColumns } from '../sql/table-check.ts';
import { postgresType } from './column-sql.ts';
import type { StoredColumn, StoredTable } from './table.ts';
import { isConvertible, scaleOf } from './values.ts';

/** Throws `destination_rejected` unless rows can be kept in the table as the mode says. */
export function checkOurs(table: StoredTable, purpose: Purpose): void {
  const isTable = table.kind === 'r' || table.kind === 'p';
  checkPurpose(table, isTable && hasOurColumns(table.columns, ['text', 'varchar']), purpose);
}

/** Throws `destination_rejected` for a column whose type would change the values that the spec's type describes. */
export const checkTypes = (table: StoredTable, wanted: WantedColumns): void =>
  checkColumnTypes(table, wanted, { keepsValues, storedType: ({ castType }) => castType, wantedType: postgresType });

/** Whether every value that fits the column stays what it is; those that do not fit are refused one by one. */
function keepsValues({ typeName, modifier }: StoredColumn, type: ColumnType): boolean {
  // What the service never creates is the customer's own choice; json takes every value as it is.
  if (!isConvertible(typeName) || typeName === 'json' || typeName === 'jsonb') return true;
  if (typeName !== 'numeric') return keepers[type.kind].includes(typeName);
  if (type.kind === 'integer' || type.kind === 'bigint') return modifier < 0 || scaleOf(modifier) >= 0;
  if (type.kind === 'numeric') return modifier < 0 || scaleOf(modifier) >= type.scale;
  return type.kind === 'float' && modifier < 0;
}

const texts = ['text', 'varchar', 'bpchar'];
const integers = ['int2', 'int4', 'int8'];

/** The names in pg_type that keep the values of a type of the spec; numeric is checked by its scale. */
const keepers: Readonly<Record<ColumnType['kind'], readonly string[]>> = {
  text: texts,
  integer: integers,
  bigint: integers,
  numeric: integers,
  float: [...integers, 'float8'],
  boolean: ['bool'],
  timestamptz: ['timestamptz', 'timestamp', ...texts],
  date: ['date', ...texts],
  uuid: ['uuid', ...texts],
  json: [],
};
