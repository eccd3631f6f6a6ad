import type { ColumnType } from '../../spec/schema/column-type.ts';
import { checkColumnTypes, checkPurpose, hasOurColumns, type Purpose, type WantedColumns } from '../sql/table-check.ts';
import { postgresType } from './column-sql.ts';
import type { StoredColumn, StoredTable } from './table.ts';
import { isConvertible, scaleOf } from './values.ts';

export function checkOurs(table: StoredTable, purpose: Purpose): void {
  const isTable = table.kind === 'r' || table.kind === 'p';
  checkPurpose(table, isTable && hasOurColumns(table.columns, ['text', 'varchar']), purpose);
}

export const checkTypes = (table: StoredTable, wanted: WantedColumns): void =>
  checkColumnTypes(table, wanted, { keepsValues, storedType: ({ castType }) => castType, wantedType: postgresType });

/** Values that do not fit are refused one by one. */
function keepsValues({ typeName, modifier }: StoredColumn, type: ColumnType): boolean {
  // A type that the service never creates is the customer's own choice; json takes every value as it is.
  if (!isConvertible(typeName) || typeName === 'json' || typeName === 'jsonb') return true;
  if (typeName !== 'numeric') return keepers[type.kind].includes(typeName);
  if (type.kind === 'integer' || type.kind === 'bigint') return modifier < 0 || scaleOf(modifier) >= 0;
  if (type.kind === 'numeric') return modifier < 0 || scaleOf(modifier) >= type.scale;
  return type.kind === 'float' && modifier < 0;
}

const texts = ['text', 'varchar', 'bpchar'];
const integers = ['int2', 'int4', 'int8'];

/** Numeric is checked by its scale. */
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
