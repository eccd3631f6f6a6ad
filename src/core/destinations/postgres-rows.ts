import type { Deliverable } from '../pipeline/page-outcome.ts';
import type { RejectedRow } from './destination.ts';
import { shownName } from './identifiers.ts';
import type { ToText } from './postgres-values.ts';

/** How one column is filled. */
export interface ColumnWriter {
  readonly name: string;
  /** SQL type the text is cast to, without length or precision. */
  readonly castType: string;
  readonly nullable: boolean;
  readonly toText: ToText;
}

/** Rows by column, ready for unnest. */
export interface EncodedRows {
  readonly externalIds: readonly string[];
  /** One list per writer, as long as externalIds. */
  readonly columns: readonly (readonly (string | null)[])[];
}

/** An index entry holds at most a third of a page: 2,704 bytes for both key columns, incompressible. */
const externalIdBytesMax = 2000;

/** Checks every value against its column before the server sees any; rows that do not fit are left out and reported. */
export function encodeRows(
  rows: readonly Deliverable[],
  { writers, refused }: { readonly writers: readonly ColumnWriter[]; readonly refused: ReadonlyMap<string, string> },
): { readonly encoded: EncodedRows; readonly rejected: readonly RejectedRow[] } {
  const externalIds: string[] = [];
  const columns: (string | null)[][] = writers.map(() => []);
  const rejected: RejectedRow[] = [];
  for (const row of rows) {
    const message = rowFault(row, refused) ?? appendRow(row, { writers, columns });
    if (message === null) externalIds.push(row.externalId);
    else rejected.push({ externalId: row.externalId, message });
  }
  return { encoded: { externalIds, columns }, rejected };
}

/** A part of the rows; `to` is exclusive. */
export const sliceRows = ({ externalIds, columns }: EncodedRows, from: number, to: number): EncodedRows => ({
  externalIds: externalIds.slice(from, to),
  columns: columns.map((values) => values.slice(from, to)),
});

function rowFault({ externalId, data }: Deliverable, refused: ReadonlyMap<string, string>): string | null {
  // Changing such an id, as texts are changed, could make two records one.
  if (externalId.includes('\0') || !externalId.isWellFormed())
    return 'The record id has characters that no text can hold.';
  if (externalId.length * 3 > externalIdBytesMax && Buffer.byteLength(externalId) > externalIdBytesMax) {
    return `The record id is longer than ${externalIdBytesMax} bytes.`;
  }
  for (const [name, reason] of refused) {
    if (Object.hasOwn(data, name) && (data[name] ?? null) !== null) return `The field ${shownName(name)} ${reason}.`;
  }
  return null;
}

/** Null when the row was appended to every column; otherwise why not, and no column has grown. */
function appendRow(
  { data }: Deliverable,
  { writers, columns }: { readonly writers: readonly ColumnWriter[]; readonly columns: readonly (string | null)[][] },
): string | null {
  for (const [index, writer] of writers.entries()) {
    const text = writer.toText(fieldOf(data, writer.name));
    const checked = text === null && !writer.nullable ? { misfit: 'must not be null' } : text;
    if (checked !== null && typeof checked === 'object') {
      for (const values of columns.slice(0, index)) values.pop();
      return `The column ${shownName(writer.name)} ${checked.misfit}.`;
    }
    columns[index]?.push(checked);
  }
  return null;
}

/** Absent is null. A function is what `toString` and the like give on a record without that field. */
function fieldOf(data: Deliverable['data'], name: string): unknown {
  const value = data[name];
  return value === undefined || typeof value === 'function' ? null : value;
}
