import type { Deliverable, RejectedRow } from '../../model/batch.ts';
import { mapWithPauses, partsOf } from '../../work/map-with-pauses.ts';
import { shownName } from './identifiers.ts';
import type { Cell, ToCell } from './record-values.ts';

export interface ColumnWriter {
  readonly name: string;
  readonly nullable: boolean;
  readonly toCell: ToCell;
}

export interface EncodedRows<Writer extends ColumnWriter> {
  readonly indexes: readonly number[];
  readonly writers: readonly Writer[];
  /**
   * Lists as long as `indexes`: the external ids, then one list per writer. In between, if rows may be partial, the columns that
   * each row gives (a `0` or `1` per writer).
   */
  readonly lists: readonly (readonly (Cell | null)[])[];
}

export interface EncodeOptions<Writer extends ColumnWriter> {
  readonly writers: readonly Writer[];
  /** Reasons by field. */
  readonly refused: ReadonlyMap<string, string>;
  /** Whether a record writes only the columns that it gives; otherwise absent is null. */
  readonly isPartial: boolean;
  /** Why no row of this database kind can have the record id; `null` if one can. */
  readonly idIssue: (externalId: string) => string | null;
}

/** Checks every value before the server sees any; rows that do not fit are left out and reported. */
export async function encodeRows<Writer extends ColumnWriter>(
  rows: readonly Deliverable[],
  options: EncodeOptions<Writer>,
): Promise<{ readonly encoded: EncodedRows<Writer>; readonly rejected: readonly RejectedRow[] }> {
  const { isPartial } = options;
  const writers = isPartial ? await givenWriters(options.writers, rows) : options.writers;
  const columns = writers.map((writer): Column => ({ writer, isPartial, cells: [] }));
  // Sized up front: growing lists are copied repeatedly, two dozen of them for each batch.
  for (const { cells } of columns) cells.length = rows.length;
  const filling: Filling = { options, columns, next: 0, indexes: [], externalIds: [], given: [], rejected: [] };
  await mapWithPauses(partsOf(rows), writeRows, filling);
  const { indexes, externalIds, given, rejected } = filling;
  for (const { cells } of columns) cells.length = indexes.length;
  const lists = [externalIds, ...(isPartial ? [given] : []), ...columns.map(({ cells }) => cells)];
  return { encoded: { indexes, writers, lists }, rejected };
}

interface Filling {
  readonly options: EncodeOptions<ColumnWriter>;
  readonly columns: readonly Column[];
  next: number;
  readonly indexes: number[];
  readonly externalIds: string[];
  readonly given: string[];
  readonly rejected: RejectedRow[];
}

function writeRows(rows: readonly Deliverable[], filling: Filling): void {
  const { options, columns, indexes, externalIds, given, rejected } = filling;
  for (const row of rows) {
    const index = filling.next;
    filling.next += 1;
    const { externalId } = row;
    const message = rowIssue(row, options) ?? writeRow(row, columns, indexes.length);
    if (message !== null) {
      rejected.push({ index, externalId, message });
      continue;
    }
    indexes.push(index);
    externalIds.push(externalId);
    if (options.isPartial) given.push(columns.map(({ writer }) => (gives(writer)(row) ? '1' : '0')).join(''));
  }
}

/** Writers of the columns that any row gives: a table may have a thousand that none does. */
async function givenWriters<Writer extends ColumnWriter>(
  writers: readonly Writer[],
  rows: readonly Deliverable[],
): Promise<readonly Writer[]> {
  const areGiven = await mapWithPauses(writers, (writer) => rows.some(gives(writer)));
  return writers.filter((_, index) => areGiven[index]);
}

/** Whether a row can have this external id unchanged: altering ids as texts are altered could make two records one. */
export const isStorableId = (externalId: string): boolean => !externalId.includes('\0') && externalId.isWellFormed();

export const unstorableId = 'The record id has characters that a text cannot store.';

const gives =
  ({ name }: ColumnWriter) =>
  ({ data }: Deliverable): boolean =>
    Object.hasOwn(data, name) && data[name] !== undefined;

function rowIssue(
  { externalId, data }: Deliverable,
  { refused, idIssue }: Pick<EncodeOptions<ColumnWriter>, 'refused' | 'idIssue'>,
): string | null {
  const issue = idIssue(externalId);
  if (issue !== null) return issue;
  if (refused.size === 0) return null;
  // The fields of one row are few; the refused ones of all rows may be hundreds of thousands.
  for (const name in data) {
    const reason = (data[name] ?? null) === null ? undefined : refused.get(name);
    if (reason !== undefined) return `The field ${shownName(name)} ${reason}.`;
  }
  return null;
}

interface Column {
  readonly writer: ColumnWriter;
  readonly isPartial: boolean;
  readonly cells: (Cell | null)[];
}

/** Fills the columns at `place` and returns null. Otherwise returns the reason, and the next row reuses the place. */
function writeRow(row: Deliverable, columns: readonly Column[], place: number): string | null {
  for (const { writer, isPartial, cells } of columns) {
    const { name, nullable, toCell } = writer;
    const cell = toCell(fieldOf(row.data, name));
    const isMissing = cell === null && !nullable && !(isPartial && !gives(writer)(row));
    if (isMissing || (cell !== null && typeof cell === 'object')) {
      return `The value of column ${shownName(name)} ${isMissing ? 'must not be null' : cell?.misfit}.`;
    }
    cells[place] = cell;
  }
  return null;
}

/** A function is what `toString` and the like give on a record without that field. */
function fieldOf(data: Deliverable['data'], name: string): unknown {
  const value = data[name];
  return value === undefined || typeof value === 'function' ? null : value;
}
