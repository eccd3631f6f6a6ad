import { createHash } from 'node:crypto';
import { AppError } from '../../errors.ts';
import { isColumnName, isTableName } from '../../json/property-names.ts';

/** One row per lane, in the schema of its tables, with its holder and last applied batch. */
export const checkpointTable = '_css_checkpoint';

/** Names the org of each table of its schema. */
export const ownersTable = '_css_tables';

/** Table in the same schema where the next generation gathers. The hash tells long names apart. */
export function nextTable(table: string): string {
  const name = `_css_next_${table}`;
  if (name.length <= nameLengthMax) return name;
  const hash = createHash('sha256').update(table).digest('hex').slice(0, 16);
  return `${name.slice(0, nameLengthMax - hash.length - 1)}_${hash}`;
}

/** PostgreSQL truncates longer names. */
const nameLengthMax = 63;

/** PostgreSQL's hidden columns, which no table can define. */
const hiddenColumns = new Set(['ctid', 'xmin', 'xmax', 'cmin', 'cmax', 'tableoid']);

/** Whether a record's field can name a column: portable, not truncated, neither the service's own nor the server's. */
export const canNameColumn = (name: string): boolean => isColumnName(name) && !hiddenColumns.has(name.toLowerCase());

/** Throws `destination_rejected` unless `name` can name a schema or table. The last gate, after any earlier check. */
export function checkName(what: 'schema' | 'table', name: string): void {
  if (isTableName(name)) return;
  throw new AppError('destination_rejected', `The destination's ${what} cannot be called ${shownName(name)}.`);
}

/** Throws `destination_rejected` for a name that is not allowed, or two names that differ only in case. */
export function checkColumnNames(names: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    const lower = name.toLowerCase();
    const issue = canNameColumn(name)
      ? seen.has(lower)
        ? 'occurs twice (upper and lower case count as equal)'
        : null
      : 'is reserved or not allowed';
    if (issue !== null) throw new AppError('destination_rejected', `The column name ${shownName(name)} ${issue}.`);
    seen.add(lower);
  }
}

/** Doubles quotes, although every name has passed the checks above. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

export const tableSql = (schema: string, table: string): string => `${quoted(schema)}.${quoted(table)}`;

export const checkpointName = (schema: string): string => tableSql(schema, checkpointTable);

export const ownersName = (schema: string): string => tableSql(schema, ownersTable);

/** For the service's own texts: names and ids have neither quotes nor backslashes. */
export const textSql = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** For a name from foreign data in a message: quoted, control characters escaped, at most 80 characters. */
export const shownName = (name: string): string => JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
