import * as v from 'valibot';

export type ColumnType =
  | { readonly kind: 'text'; readonly maxLength?: number }
  | { readonly kind: 'numeric'; readonly precision: number; readonly scale: number }
  | {
      readonly kind: 'integer' | 'bigint' | 'float' | 'boolean' | 'timestamptz' | 'date' | 'uuid' | 'json';
    };

const words = ['integer', 'bigint', 'float', 'boolean', 'timestamptz', 'date', 'uuid', 'json'] as const;
/** Digits that every SQL destination can hold (SQL Server's limit). */
const precisionMax = 38;

/**
 * Parses a column type such as `text` or `numeric(18,4)`; `null` if it is invalid. `maxLength` counts characters and
 * applies to `text` only.
 */
export function parseColumnType(text: string, maxLength?: number): ColumnType | null {
  if (text === 'text') return maxLength === undefined ? { kind: 'text' } : { kind: 'text', maxLength };
  const word = words.find((candidate) => candidate === text);
  if (word) return { kind: word };
  const [, precision, scale] = /^numeric\((\d{1,2}), ?(\d{1,2})\)$/.exec(text) ?? [];
  const numeric = { kind: 'numeric' as const, precision: Number(precision), scale: Number(scale) };
  const fits = numeric.precision >= 1 && numeric.precision <= precisionMax && numeric.scale <= numeric.precision;
  return fits ? numeric : null;
}

export const columnTypeForms = `text, ${words.join(', ')} or numeric(p,s) with p at most ${precisionMax}`;

export const columnTypeHint = `expected ${columnTypeForms}`;

export const ColumnTypeText = v.pipe(
  v.string(),
  v.check((text) => parseColumnType(text) !== null, columnTypeHint),
  v.metadata({ title: 'column type', pattern: String.raw`^(?:text|${words.join('|')}|numeric\(\d{1,2}, ?\d{1,2}\))$` }),
);
