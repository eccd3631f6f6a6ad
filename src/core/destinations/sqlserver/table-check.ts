import { AppError } from '../../errors.ts';
import type { ColumnType } from '../../spec/schema/column-type.ts';
import { tableSql } from '../sql/identifiers.ts';
import { checkColumnTypes, checkPurpose, hasOurColumns, type Purpose, type WantedColumns } from '../sql/table-check.ts';
import { sqlServerType } from './column-sql.ts';
import type { StoredColumn, StoredTable } from './table.ts';
import { isConvertible } from './values.ts';

export function checkOurs(table: StoredTable, purpose: Purpose): void {
  checkPurpose(table, !table.isView && hasOurColumns(table.columns, ['nvarchar']), purpose);
  const name = tableSql(purpose.schema, table.name);
  if (table.isDiverted) {
    throw new AppError(
      'destination_rejected',
      `${name} has an INSTEAD OF trigger: of rows that it drops the server says that they were ` +
        'written. Nothing was changed; make it an AFTER trigger, or choose another target.table.',
    );
  }
  if (!table.isFiltered) return;
  throw new AppError(
    'destination_rejected',
    `${name} has a security policy with a filter: a row that it hides would count as deleted and stay. Nothing was ` +
      'changed; take the filter off the table and filter a view of it, or choose another target.table.',
  );
}

export const checkTypes = (table: StoredTable, wanted: WantedColumns): void =>
  checkColumnTypes(table, wanted, { keepsValues, storedType, wantedType });

const wantedType = (type: ColumnType): string => `${sqlServerType(type)}${type.kind === 'json' ? ' with JSON' : ''}`;

function storedType({ typeName, length, precision, scale, isJson }: StoredColumn): string {
  if (decimals.includes(typeName)) return `${typeName}(${precision},${scale})`;
  if (!texts.includes(typeName)) return typeName;
  return `${typeName}(${length < 0 ? 'max' : length})${isJson ? ' with JSON' : ''}`;
}

/** Values that do not fit are refused one by one. */
function keepsValues({ typeName, scale, isJson, noted }: StoredColumn, type: ColumnType): boolean {
  // A type that the service never creates is the customer's own choice.
  if (!isConvertible(typeName)) return true;
  if (isJson) return type.kind === 'json';
  // A text column of the customer, or of a restored database, may hold JSON.
  if (type.kind === 'json') return typeName === 'nvarchar' && !noted;
  if (!decimals.includes(typeName)) return keepers[type.kind].includes(typeName);
  return type.kind === 'integer' || type.kind === 'bigint' || (type.kind === 'numeric' && scale >= type.scale);
}

const texts = ['nvarchar', 'nchar', 'varchar', 'char'];
const integers = ['tinyint', 'smallint', 'int', 'bigint'];
const decimals = ['decimal', 'numeric'];

/** Decimals are checked by their scale. */
const keepers: Readonly<Record<Exclude<ColumnType['kind'], 'json'>, readonly string[]>> = {
  text: texts,
  integer: integers,
  bigint: integers,
  numeric: integers,
  float: [...integers, 'float'],
  boolean: ['bit'],
  timestamptz: ['datetimeoffset', 'datetime2', ...texts],
  date: ['date', ...texts],
  uuid: ['uniqueidentifier', ...texts],
};
