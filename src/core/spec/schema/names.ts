import * as v from 'valibot';
import { prototypeNames } from '../../json/json-limits.ts';
import * as names from '../../json/property-names.ts';

/*
 * The names and paths of `json/property-names.ts` with patterns for editors, since JSON Schema cannot hold their checks.
 */

const reserved = [...prototypeNames];
const identifier = '[A-Za-z_][A-Za-z0-9_]{0,62}$';

/** Matches the text in upper and lower case; JSON Schema has no flags. */
const anyCase = (text: string): string => text.replaceAll(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);

const pathOf = (segment: string): string =>
  String.raw`(?!(?:[^.]*\.)*(?:${reserved.join('|')})(?:\.|$))${segment}(?:\.${segment})*`;

const segment = String.raw`[\p{L}\p{N}_@#][\p{L}\p{N}_@#:-]*`;

const pathPattern = pathOf(segment);

/** As `pathPattern`, with `*` for some of its names. */
const selectorPattern = String.raw`(?!(?:[^*]*\*){${names.starsMax + 1}})${pathOf(String.raw`(?:\*|${segment})`)}`;

export const SpecKey = v.pipe(names.SpecKey, v.metadata({ title: 'name', not: { enum: reserved } }));

export const Identifier = v.pipe(names.Identifier, v.metadata({ title: 'name', not: { enum: reserved } }));

export const VariableName = v.pipe(names.VariableName, v.metadata({ title: 'variable name', not: { enum: reserved } }));

export const TableName = v.pipe(
  names.TableName,
  v.metadata({
    title: 'table name',
    pattern: `^(?!${anyCase('pg_')}|${anyCase('_css_')}|(?:${anyCase('information_schema')}|${anyCase('sys')})$)${identifier}`,
  }),
);

export const ColumnName = v.pipe(
  v.string(),
  v.check(
    names.isColumnName,
    'expected 1 to 63 letters, digits or `_`, the first not a digit, and no column of the service',
  ),
  v.metadata({
    title: 'column name',
    pattern: `^(?!(?:${[...[...names.serviceColumns].map(anyCase), ...reserved].join('|')})$)${identifier}`,
  }),
);

/** A plain dotted path into a record, never an expression. */
export const FieldPath = v.pipe(
  names.FieldPath,
  v.metadata({ title: 'dotted path', pattern: `^${pathPattern}$`, maxLength: 500 }),
);

export const Selector = v.pipe(
  names.Selector,
  v.metadata({
    title: 'dotted path (with *) or $',
    pattern: String.raw`^(?:\$|${selectorPattern})$`,
    maxLength: 500,
  }),
);
