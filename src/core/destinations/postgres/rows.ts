import type { FixedForm } from '../../postgres/binary-arrays.ts';
import { type ColumnWriter, type EncodedRows, isStorableId, unstorableId } from '../sql/record-rows.ts';
import type { Cell } from '../sql/record-values.ts';

/** How cells of a type go in binary. */
export interface PlainForm extends FixedForm<Cell> {
  /** The cell of a value that a number says exactly; null: its text is its cell. */
  readonly numberOf: (value: unknown) => number | null;
  /** The text that such a number stands for. */
  readonly textOf: (number: number) => string;
}

/** How one column is filled. */
export interface PostgresWriter extends ColumnWriter {
  /** SQL type the text is cast to, without length or precision. */
  readonly castType: string;
  /** The form of the cells; null: all are texts, and go as such. */
  readonly form: PlainForm | null;
}

/** Rows by column, ready for unnest. */
export type PostgresRows = EncodedRows<PostgresWriter>;

/** A part of the rows; `to` is exclusive. */
export const sliceRows = ({ indexes, writers, lists }: PostgresRows, from: number, to: number): PostgresRows => ({
  indexes: indexes.slice(from, to),
  writers,
  lists: lists.map((values) => values.slice(from, to)),
});

/** An index entry holds at most a third of a page: 2,704 bytes for both key columns, incompressible. */
const externalIdBytesMax = 2000;

/** Why no row can have this record id, as a sentence; null when one can. */
export function idIssue(externalId: string): string | null {
  if (!isStorableId(externalId)) return unstorableId;
  const isLong = externalId.length * 3 > externalIdBytesMax && Buffer.byteLength(externalId) > externalIdBytesMax;
  return isLong ? `The record id is longer than ${externalIdBytesMax} bytes.` : null;
}
