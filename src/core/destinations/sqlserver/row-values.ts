import type { SqlServerFields } from './fields.ts';
import type { SqlServerWriter } from './rows.ts';
import { stagedColumn } from './staging.ts';
import { isConvertible } from './values.ts';

export interface KeyValue {
  readonly column: string;
  /** As SQL, of the row with this alias. */
  readonly valueOf: (alias: string) => string;
}

interface Written {
  readonly map: SqlServerFields;
  readonly writers: readonly SqlServerWriter[];
}

/** `null` when the rows lack one of the values, or their types compare in special ways. */
export function keyValues({ map, writers }: Written, columns: readonly string[]): readonly KeyValue[] | null {
  const values = columns.map((column): KeyValue | null => {
    if (column === '_connection_id') return { column, valueOf: () => '@connection' };
    if (column === '_external_id') return { column, valueOf: (alias) => `${alias}.external_id` };
    const index = placeOf(writers, column);
    const writer = writers[index];
    if (!writer || !isComparable(map, writer)) return null;
    return { column, valueOf: (alias) => comparedValue(map, { writer, index }, alias) };
  });
  return values.every((value) => value !== null) ? values : null;
}

/** Babelfish's catalog has column names in lower case. */
function placeOf(writers: readonly SqlServerWriter[], column: string): number {
  const exact = writers.findIndex(({ name }) => name === column);
  return exact >= 0 ? exact : writers.findIndex(({ name }) => name.toLowerCase() === column.toLowerCase());
}

/** Whether the staged value of a column, once cast, equals the stored one. */
function isComparable(map: SqlServerFields, { name }: SqlServerWriter): boolean {
  const column = columnOf(map, name);
  if (!column) return false;
  const { typeName, collation, length } = column;
  if (!isConvertible(typeName)) return moreComparable.includes(typeName);
  return !texts.includes(typeName) || (collation !== null && length >= 0);
}

const texts = ['nvarchar', 'nchar', 'varchar', 'char'];
const moreComparable = ['money', 'smallmoney', 'datetime', 'smalldatetime', 'time'];

const columnOf = ({ prepared }: SqlServerFields, name: string) =>
  prepared.stored.columns.find((column) => column.name === name);

/** The value of a staged row as its column would hold and compare it; null where it cannot be cast. */
export function comparedValue(
  map: SqlServerFields,
  { writer, index }: { readonly writer: SqlServerWriter; readonly index: number },
  alias: string,
): string {
  const staged = stagedColumn(index, alias);
  const { typeName, collation } = columnOf(map, writer.name) ?? { typeName: '', collation: null };
  if (writer.castType !== null) return `try_cast(${staged} as ${writer.castType})`;
  if (typeName === 'real') return `try_cast(${staged} as real)`;
  if (collation === null) return staged;
  const text = `${staged} collate ${collation}`;
  return typeName === 'varchar' || typeName === 'char' ? `cast(${text} as varchar(8000))` : text;
}
