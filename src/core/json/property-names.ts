import * as v from 'valibot';
import { prototypeNames } from './json-limits.ts';

const tableName = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;

export const serviceColumns: ReadonlySet<string> = new Set([
  '_connection_id',
  '_external_id',
  '_run_id',
  '_synced_at',
  '_deleted_at',
  '_seq',
]);

/** Portable, not truncated by PostgreSQL, not used by server or service. */
export function isTableName(name: string): boolean {
  const lower = name.toLowerCase();
  const isTaken = lower.startsWith('pg_') || lower.startsWith('_css_') || ['information_schema', 'sys'].includes(lower);
  return tableName.test(name) && !isTaken;
}

export const isColumnName = (name: string): boolean =>
  tableName.test(name) && !serviceColumns.has(name.toLowerCase()) && !prototypeNames.has(name);

/** `metadata.key` of a spec, also part of URLs. */
export const SpecKey = named(
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
  'expected 1 to 63 letters, digits, `.`, `_` or `-`, the first a letter or digit',
);

/** The key of a resource or of a connection param. */
export const Identifier = named(
  /^[A-Za-z][A-Za-z0-9_-]{0,62}$/,
  'expected 1 to 63 letters, digits, `_` or `-`, the first a letter',
);

/** A name that expressions use as a variable: `assignTo`, `as`. */
export const VariableName = named(
  /^[A-Za-z_][A-Za-z0-9_]{0,62}$/,
  'expected 1 to 63 letters, digits or `_`, the first not a digit',
);

export const TableName = v.pipe(
  v.string(),
  v.check(
    isTableName,
    'expected 1 to 63 letters, digits or `_`, the first not a digit, and not pg_…, _css_…, information_schema or sys',
  ),
);

/** A plain dotted path into a record, such as `user.id`; never an expression. */
export const FieldPath = v.pipe(
  v.string(),
  v.check(isFieldPath, 'expected a plain dotted path such as `user.id`, not an expression'),
);

export const starsMax = 8;

/** `$` for the whole, or a plain dotted path in which `*` may stand for a name. */
export const Selector = v.pipe(
  v.string(),
  v.check(
    isSelector,
    `expected \`$\` or a plain dotted path, with \`*\` for at most ${starsMax} of its names; for more use \`map\``,
  ),
);

function isSelector(path: string): boolean {
  if (path === '$') return true;
  const names = path.split('.');
  const stars = names.filter((name) => name === '*').length;
  if (stars > starsMax || path.length > pathMax) return false;
  return stars === names.length || isFieldPath(names.filter((name) => name !== '*').join('.'));
}

const pathMax = 500;

function isFieldPath(path: string): boolean {
  return (
    path.length <= pathMax &&
    /^[\p{L}\p{N}_@#][\p{L}\p{N}_@#:-]*(\.[\p{L}\p{N}_@#][\p{L}\p{N}_@#:-]*)*$/u.test(path) &&
    !path.split('.').some((segment) => prototypeNames.has(segment))
  );
}

function named(pattern: RegExp, message: string) {
  return v.pipe(
    v.string(),
    v.regex(pattern, message),
    v.check((name) => !prototypeNames.has(name), 'this name is reserved; choose another'),
  );
}
