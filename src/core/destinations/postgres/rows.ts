import type { FixedForm } from '../../postgres/binary-arrays.ts';
import { type ColumnWriter, type EncodedRows, isStorableId, unstorableId } from '../sql/record-rows.ts';
import type { Cell } from '../sql/record-values.ts';

export interface PlainForm extends FixedForm<Cell> {
  /** `null` if the value's text is its cell. */
  readonly numberOf: (value: unknown) => number | null;
  readonly textOf: (number: number) => string;
}

export interface PostgresWriter extends ColumnWriter {
  /** Without length or precision. */
  readonly castType: string;
  /** `null` if all cells are sent as texts. */
  readonly form: PlainForm | null;
}

export type PostgresRows = EncodedRows<PostgresWriter>;

/** `to` is exclusive. */
export const sliceRows = ({ indexes, writers, lists }: PostgresRows, from: number, to: number): PostgresRows => ({
  indexes: indexes.slice(from, to),
  writers,
  lists: lists.map((values) => values.slice(from, to)),
});

/** An index entry holds at most a third of a page: 2,704 bytes for both key columns, incompressible. */
const externalIdBytesMax = 2000;

/** Why no row can have this record id, as a sentence; `null` if one can. */
export function idIssue(externalId: string): string | null {
  if (!isStorableId(externalId)) return unstorableId;
  const isLong = externalId.length * 3 > externalIdBytesMax && Buffer.byteLength(externalId) > externalIdBytesMax;
  return isLong ? `The record id is longer than ${externalIdBytesMax} bytes.` : null;
}
