import { quoted, tableSql } from '../sql/identifiers.ts';
import type { PostgresFields } from './fields.ts';
import type { PostgresWriter } from './rows.ts';

/** Values and parameters of a statement, as SQL. */
export interface ValuePlaces {
  readonly run: string;
  readonly connection: string;
  /** The other lists follow. */
  readonly firstList: number;
  /** Whether nothing is written unless the CTE `claim` has a row. */
  readonly isGuarded: boolean;
}

interface RowsToWrite {
  readonly places: ValuePlaces;
  readonly writers: readonly PostgresWriter[];
  readonly types: readonly string[];
  /** Mode upsert: fails if one of the rows exists, and takes two thirds of the time. */
  readonly onlyInserts: boolean;
}

export function rowsSql(map: PostgresFields, rows: RowsToWrite): string {
  switch (map.prepared.mode) {
    case 'upsert':
    case 'replace':
      return rows.onlyInserts ? insertSql(map, rows) : `${insertSql(map, rows)} ${onConflict(rows.writers)}`;
    case 'append':
      return insertSql(map, rows);
    case 'update':
      return updateSql(map, rows);
  }
}

function insertSql({ prepared }: PostgresFields, { places, writers, types }: RowsToWrite): string {
  const { run, connection, firstList, isGuarded } = places;
  const names = writers.map(({ name }) => `, ${quoted(name)}`).join('');
  const casts = writers.map(({ castType }, index) => `, r.c${index + 1}::${castType}`).join('');
  // Side by side in a select, they cost the server a fifth less than as a table of lists, which it would store.
  const columns = types.map((type, index) => `unnest($${firstList + index}::${type}[]) as c${index}`);
  return `
    insert into ${tableSql(prepared.schema, prepared.written)}
      (_connection_id, _external_id, _run_id, _synced_at, _deleted_at${names})
    select ${connection}::text, r.c0, ${run}::text, now(), null${casts}
    from (select ${columns.join(', ')}) as r ${isGuarded ? 'where exists (select from claim)' : ''}`;
}

function onConflict(writers: readonly PostgresWriter[]): string {
  const updates = writers.map(({ name }) => `, ${quoted(name)} = excluded.${quoted(name)}`).join('');
  return `
    on conflict (_connection_id, _external_id) do update set
      _run_id = excluded._run_id, _synced_at = excluded._synced_at, _deleted_at = null${updates}`;
}

/**
 * A column that a record does not give keeps its value. The connection is a column: as a constant it makes a server without
 * statistics read all rows of the connection per batch.
 */
function updateSql({ prepared }: PostgresFields, { places, writers, types }: RowsToWrite): string {
  const { run, connection, firstList, isGuarded } = places;
  const updates = writers.map(
    ({ name, castType }, index) => `, ${quoted(name)} = case substr(r.given, ${index + 1}, 1)
      when '1' then r.c${index + 1}::${castType} else t.${quoted(name)} end`,
  );
  const aliases = ['c0', 'given', ...writers.map((_, index) => `c${index + 1}`)];
  return `
    update ${tableSql(prepared.schema, prepared.written)} as t
    set _run_id = ${run}::text, _synced_at = now()${updates.join('')}
    from unnest(
      array_fill(${connection}::text, array[cardinality($${firstList}::text[])]),
      ${listsSql(types, firstList)}) as r(connection, ${aliases.join(', ')})
    where t._connection_id = r.connection and t._external_id = r.c0
      ${isGuarded ? 'and exists (select from claim)' : ''}`;
}

const listsSql = (types: readonly string[], firstList: number): string =>
  types.map((type, index) => `$${firstList + index}::${type}[]`).join(', ');
