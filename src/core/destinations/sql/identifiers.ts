import { createHash } from 'node:crypto';
import { AppError } from '../../errors.ts';
import { isColumnName, isTableName } from '../../json/property-names.ts';

/** The table with one row per lane: its holder and the last applied batch. In the schema of its tables. */
export const checkpointTable = '_css_checkpoint';

/** The table that names the org of each table of its schema. */
export const ownersTable = '_css_tables';

/** The table where the next generation of a table gathers; in the same schema. The hash tells long names apart. */
export function nextTable(table: string): string {
  const name = `_css_next_${table}`;
  if (name.length <= nameLengthMax) return name;
  const hash = createHash('sha256').update(table).digest('hex').slice(0, 16);
  return `${name.slice(0, nameLengthMax - hash.length - 1)}_${hash}`;
}

/** PostgreSQL cuts longer names. */
const nameLengthMax = 63;

/** PostgreSQL's hidden columns, which no table can define. */
const hiddenColumns = new Set(['ctid', 'xmin', 'xmax', 'cmin', 'cmax', 'tableoid']);

/** Whether a record's field can name a column: portable, not cut, neither the service's own nor the server's. */
export const canNameColumn = (name: string): boolean => isColumnName(name) && !hiddenColumns.has(name.toLowerCase());

/** Throws `destination_rejected` unless `name` can name a schema or table. Whatever was checked before: the last gate. */
export function checkName(what: 'schema' | 'table', name: string): void {
  if (isTableName(name)) return;
  throw new AppError('destination_rejected', `The destination's ${what} cannot be called ${shownName(name)}.`);
}

/** Throws `destination_rejected` for a column name that cannot be, or two that differ only in case. */
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

/** A name as SQL. Doubles quotes, although every name has passed the checks above. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Schema and table as SQL. */
export const tableSql = (schema: string, table: string): string => `${quoted(schema)}.${quoted(table)}`;

/** The checkpoint table of a schema, as SQL. */
export const checkpointName = (schema: string): string => tableSql(schema, checkpointTable);

/** The table of owners of a schema, as SQL. */
export const ownersName = (schema: string): string => tableSql(schema, ownersTable);

/** A text as SQL, of the service's own: names and ids have neither quotes nor backslashes. */
export const textSql = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** A name from foreign data for a message: quoted, control characters escaped, at most 80 characters. */
export const shownName = (name: string): string => JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
