import type { ColumnType } from '../../spec/schema/column-type.ts';
import type { Column } from '../destination.ts';
import { checkPurpose, type Purpose, typeClash } from '../sql/table-check.ts';
import { postgresType } from './column-sql.ts';
import type { StoredColumn, StoredTable } from './table.ts';
import { isConvertible, scaleOf } from './values.ts';

/** Throws `destination_rejected` unless rows can be kept in the table as the mode says. */
export const checkOurs = (table: StoredTable, purpose: Purpose): void =>
  checkPurpose(table, hasOurColumns(table), purpose);

function hasOurColumns({ kind, columns }: StoredTable): boolean {
  const texts = columns.filter(({ typeName }) => typeName === 'text' || typeName === 'varchar');
  const names = new Set(columns.map(({ name }) => name));
  return (
    (kind === 'r' || kind === 'p') &&
    ['_connection_id', '_external_id', '_run_id'].every((wanted) => texts.some(({ name }) => name === wanted)) &&
    names.has('_synced_at') &&
    names.has('_deleted_at')
  );
}

/** Throws `destination_rejected` for a column whose type would change the values that the spec's type describes. */
export function checkTypes(table: StoredTable, { schema, columns }: ColumnsOfSchema): void {
  const stored = new Map(table.columns.map((column) => [column.name, column]));
  for (const { name, type } of columns) {
    const column = stored.get(name);
    if (!column || keepsValues(column, type)) continue;
    throw typeClash({
      schema,
      table: table.name,
      column: name,
      found: column.castType,
      wanted: postgresType(type),
    });
  }
}

interface ColumnsOfSchema {
  readonly schema: string;
  readonly columns: readonly Column[];
}

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
