import type { Tombstone } from '../../model/batch.ts';
import type { EncodedRows } from '../sql/record-rows.ts';
import { externalIdLengthMax, keyCollation } from './definitions.ts';
import type { LoadedColumn, Session } from './driver/session.ts';
import { idIssue, type SqlServerWriter } from './fields.ts';

/** Rows by column, ready to be staged. */
export type SqlServerRows = EncodedRows<SqlServerWriter>;

/**
 * The temporary table with the rows of a batch: `n` is the place among them, `is_out` marks those that the server
 * refused, `given` says in mode update which columns a record gives, and c1, c2, … are the values.
 */
export const rowsTable = '#rows';

/** The temporary table with the ids of records that are gone. */
export const missingTable = '#gone';

/** Loads the rows of a batch into {@link rowsTable}, outside of any transaction: a repeated one finds them there. */
export async function stageRows(session: Session, { indexes, writers, lists }: SqlServerRows): Promise<void> {
  const isPartial = lists.length > writers.length + 1;
  const columns: LoadedColumn[] = [
    { name: 'n', type: 'int' },
    { name: 'external_id', type: { characters: externalIdLengthMax } },
    ...(isPartial ? [{ name: 'given', type: { characters: givenLengthMax } }] : []),
    ...writers.map(({ staged }, index) => ({
      name: `c${index + 1}`,
      type: staged === 'float' ? staged : { characters: staged },
    })),
  ];
  const firstValue = lists.length - writers.length;
  const isFloat = lists.map((_, index) => writers[index - firstValue]?.staged === 'float');
  const rows = indexes.map((_, n) => [
    n,
    ...lists.map((values, index) => {
      const value = values[n] ?? null;
      return isFloat[index] && value !== null ? Number(value) : value;
    }),
  ]);
  await session.query(createSql(rowsTable, [...columns.map(columnSql), 'is_out bit null']));
  await session.load({ table: rowsTable, columns, rows });
}

/** Loads the ids of records that are gone into {@link missingTable}, without those that no row can have. */
export async function stageMissing(session: Session, tombstones: readonly Tombstone[]): Promise<void> {
  const columns: LoadedColumn[] = [
    { name: 'is_hard', type: 'int' },
    { name: 'external_id', type: { characters: externalIdLengthMax } },
  ];
  const rows = tombstones
    .filter(({ externalId }) => idIssue(externalId) === null)
    .map(({ externalId, effect }) => [effect === 'hard' ? 1 : 0, externalId]);
  await session.query(createSql(missingTable, columns.map(columnSql)));
  if (rows.length > 0) await session.load({ table: missingTable, columns, rows });
}

/** One character for each column; a table has at most 1,024. */
const givenLengthMax = 1024;

const createSql = (table: string, columns: readonly string[]): string =>
  `drop table if exists ${table}; create table ${table} (${columns.join(', ')});`;

/** The collation is that of the keys, so that a join needs none of its own. */
function columnSql({ name, type }: LoadedColumn): string {
  if (type === 'int') return `${name} int not null`;
  if (type === 'float') return `${name} float(53) null`;
  const length = Number.isFinite(type.characters) ? type.characters : 'max';
  return `${name} nvarchar(${length}) collate ${keyCollation} null`;
}
