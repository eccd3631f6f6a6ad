import type { FixedForm } from '../binary-arrays.ts';
import { type ColumnWriter, type EncodedRows, isStorableId, unstorableId } from './record-rows.ts';
import type { Cell } from './record-values.ts';

/** How cells of a type go in binary; a text that is not in the plainest form of the type goes as text. */
export interface PlainForm extends FixedForm<Cell> {
  /** What a number among the cells means, as text. */
  readonly text: (number: number) => string;
}

/** How one column is filled. */
export interface PostgresWriter extends ColumnWriter {
  /** SQL type the text is cast to, without length or precision. */
  readonly castType: string;
  /** Null: cells are texts, and go as such. */
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
export function idFault(externalId: string): string | null {
  if (!isStorableId(externalId)) return unstorableId;
  const isLong = externalId.length * 3 > externalIdBytesMax && Buffer.byteLength(externalId) > externalIdBytesMax;
  return isLong ? `The record id is longer than ${externalIdBytesMax} bytes.` : null;
}
