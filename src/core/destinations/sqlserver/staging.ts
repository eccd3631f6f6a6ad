import type { Tombstone } from '../../model/batch.ts';
import { mapWithPauses } from '../../work/map-with-pauses.ts';
import { externalIdLengthMax, keyCollation } from './definitions.ts';
import type { LoadedColumn, Session, Value } from './driver/session.ts';
import { idIssue, type SqlServerRows, type SqlServerWriter } from './rows.ts';
import { withConflictRetries } from './transaction.ts';

/**
 * Columns of the table:
 *
 * - `n`: the place of the row.
 * - `issue`: an error number of the server, with its text in `reason`, or a negative number of a check.
 * - `kept`: a check has decided for it against a later row.
 * - `given`: in mode update, which columns the record gives.
 * - `c1`, `c2`, …: the values. Beyond {@link columnsEach} of them the next ones are in `#rows2`, `#rows3`, …, by the same `n`.
 */
export const rowsTable = '#rows';

export const deletedTable = '#deleted';

/**
 * Each value is staged as a text with at most 74 bytes in the row (a root of 72 and its offset). So 100 of them always fit into
 * the 8,060 bytes of a row, and every row that its own table can hold can be staged.
 */
export const columnsEach = 100;

/** Outside of any transaction, so that a retried one finds the rows there. */
export async function stageRows(session: Session, rows: SqlServerRows): Promise<void> {
  const { indexes, writers, lists } = rows;
  const isPartial = lists.length > writers.length + 1;
  const leading: LoadedColumn[] = [
    { name: 'external_id', type: { characters: externalIdLengthMax } },
    ...(isPartial ? [{ name: 'given', type: { characters: givenLengthMax } } as const] : []),
  ];
  const columns = writers.map((writer, index) => loadedColumn(writer, index));
  const values = lists.slice(leading.length).map((list, index) => valuesOf(list, columns[index]?.type === 'float'));
  const places = indexes.map((_, n) => n);
  // Several tables are joined, by loops where the statement says so.
  const key = columns.length > columnsEach ? ['primary key (n)'] : [];
  await stage(session, {
    table: rowsTable,
    columns: [placeColumn, ...leading, ...columns.slice(0, columnsEach)],
    lists: [places, ...lists.slice(0, leading.length), ...values.slice(0, columnsEach)],
    more: ['issue int null', `reason nvarchar(${reasonLengthMax}) null`, 'kept bit null', ...key],
  });
  for (let from = columnsEach; from < columns.length; from += columnsEach) {
    await stage(session, {
      table: stagedTable(from),
      columns: [placeColumn, ...columns.slice(from, from + columnsEach)],
      lists: [places, ...values.slice(from, from + columnsEach)],
      more: key,
    });
  }
}

/** Leaves out ids that no row can have. Returns the number of the others. */
export async function stageDeleted(session: Session, tombstones: readonly Tombstone[]): Promise<number> {
  const storable = tombstones.filter(({ externalId }) => idIssue(externalId) === null);
  await stage(session, {
    table: deletedTable,
    columns: [
      placeColumn,
      { name: 'is_hard', type: 'int' },
      { name: 'external_id', type: { characters: externalIdLengthMax } },
    ],
    lists: [
      storable.map((_, n) => n),
      storable.map(({ effect }) => (effect === 'hard' ? 1 : 0)),
      storable.map(({ externalId }) => externalId),
    ],
    more: [],
  });
  return storable.length;
}

const stagedTable = (index: number): string => `${rowsTable}${tableNumber(index)}`;

const tableNumber = (index: number): string => (index < columnsEach ? '' : `${Math.floor(index / columnsEach) + 1}`);

export const stagedColumn = (index: number, alias = 'r'): string => `${alias}${tableNumber(index)}.c${index + 1}`;

/** As SQL to follow `from`. */
export function stagedRows(writers: number, alias = 'r'): string {
  const joins: string[] = [];
  for (let from = columnsEach; from < writers; from += columnsEach) {
    const own = `${alias}${tableNumber(from)}`;
    joins.push(` inner join ${stagedTable(from)} as ${own} on ${own}.n = ${alias}.n`);
  }
  return `${rowsTable} as ${alias}${joins.join('')}`;
}

/**
 * Rows that one statement writes. Each takes a lock on its key, and an update or insert also one on its row. From 5,000 locks on
 * either, the server locks the whole table.
 */
const rowsEach = 2000;

/** Covers the staged places from `@at` to before `@next`, repeated for all places. */
export const slicesSql = (count: string, statements: string): string => `
    set @at = 0;
    while @at < ${count}
    begin
      set @next = case when ${count} - @at > ${rowsEach} then @at + ${rowsEach} else ${count} end;
      ${statements}
      set @at = @next;
    end;`;

/** Characters of a server's message that suffice to name the column or constraint. */
export const reasonLengthMax = 600;

/** One character for each column; a table has at most 1,024. */
const givenLengthMax = 1024;

const placeColumn: LoadedColumn = { name: 'n', type: 'int' };

const loadedColumn = ({ staged }: SqlServerWriter, index: number): LoadedColumn => ({
  name: `c${index + 1}`,
  type: staged === 'float' ? staged : { characters: staged },
});

const valuesOf = (list: SqlServerRows['lists'][number], isFloat: boolean): readonly Value[] =>
  isFloat ? list.map((value) => (value === null ? null : Number(value))) : list;

interface Staging {
  readonly table: string;
  readonly columns: readonly LoadedColumn[];
  /** By column. */
  readonly lists: readonly (readonly Value[])[];
  /** Columns that are filled later, and the key, as SQL. */
  readonly more: readonly string[];
}

async function stage(session: Session, { table, columns, lists, more }: Staging): Promise<void> {
  const definitions = [...columns.map(columnSql), ...more].join(', ');
  const rows = await mapWithPauses(lists[0] ?? [], (_first, _none, n) => lists.map((list) => list[n] ?? null));
  await withConflictRetries(session, async () => {
    await session.query(`drop table if exists ${table}; create table ${table} (${definitions});`);
    if (rows.length > 0) await session.load({ table, columns, rows });
  });
}

/** The collation of the keys, so that joins need no other. */
function columnSql({ name, type }: LoadedColumn): string {
  if (type === 'int') return `${name} int not null`;
  if (type === 'float') return `${name} float(53) null`;
  const length = Number.isFinite(type.characters) ? type.characters : 'max';
  return `${name} nvarchar(${length}) collate ${keyCollation} null`;
}
