import { AppError } from '../../errors.ts';
import { SqlServerFailure, serverError, unnumbered } from './server-error.ts';

/** Constraint, conversion, length, index entry too long, refused by a trigger. */
export function blamesRow(error: unknown): boolean {
  const found = serverError(error);
  return found !== null && (rowReasons.has(found.number) || isRaised(found.number));
}

export const isRowError = (error: unknown, number: number): boolean => serverError(error)?.number === number;

/** As {@link blamesRow}, with the error number in a variable. */
export const blamesRowSql = (variable: string): string =>
  `(${variable} in (${[...rowReasons.keys()].join(', ')}) or ${variable} >= 50000 and ${variable} <> ${unnumbered})`;

/** RAISERROR and THROW of the customer's triggers; Babelfish's own number is far beyond. */
const isRaised = (number: number): boolean => number >= 50_000 && number !== unnumbered;

/** Names columns and constraints, never values. */
export function rowIssue(error: unknown): string {
  const found = serverError(error);
  if (!found) return 'refused by the database';
  const { number, message } = found;
  const [, what, name = ''] = (namesPlace.has(number) && place.exec(message)) || [];
  const where = what === undefined ? '' : ` ${what === 'column' ? 'in' : 'by'} ${what} "${ownName(name)}"`;
  return `${rowReasons.get(number) ?? 'refused by a trigger'}${where} (error ${number})`;
}

/** Errors that name column, constraint or index before they repeat any value. */
const namesPlace: ReadonlySet<number> = new Set([515, 547, 2601, 2627, 2628]);
const place = /\b(constraint|index|column) ['"](\w{1,128})['"]/;

/** A constraint of the table where the next generation gathers is a copy of the customer's. */
const ownName = (name: string): string => name.replace(/^_css_next_/, '');

const [noFit, outOfRange, tooLong] = [
  'a value does not fit its column',
  'a number is out of range',
  'a text is too long',
];

const rowReasons: ReadonlyMap<number, string> = new Map([
  [220, outOfRange],
  [232, outOfRange],
  [241, noFit],
  [242, noFit],
  [244, outOfRange],
  [245, noFit],
  [248, outOfRange],
  [295, noFit],
  [296, outOfRange],
  [511, 'the row is too large'],
  [515, 'null is not allowed'],
  [517, outOfRange],
  [547, 'refused'],
  [550, 'refused by a view'],
  [1946, 'an indexed value is too long'],
  [2601, 'refused as a duplicate'],
  [2627, 'refused as a duplicate'],
  [2628, tooLong],
  [3609, 'refused by a trigger'],
  [3616, 'refused by a trigger'],
  [8114, noFit],
  [8115, outOfRange],
  [8134, 'a number cannot be divided by zero'],
  [8152, tooLong],
  [8169, noFit],
]);

/** The error of a statement over rows that are already in the table. An error that no row causes is returned unchanged. */
export function wholeRefused(error: unknown, what: string): unknown {
  const found = serverError(error);
  if (!found || !blamesRow(error)) return error;
  const message = `${what}: ${rowIssue(error)}. Nothing was changed; correct that constraint or trigger.`;
  return new AppError('destination_rejected', message, { cause: new SqlServerFailure(found.number) });
}
