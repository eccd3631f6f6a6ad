/** Makes every list of an org long: each of its rows many times, whatever tables there are. */
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../../db/client.ts';
import { type IdPrefix, newId } from '../../../src/core/ids.ts';

/**
 * Copies the newest row that an org has in each table, so often. Returns the tables in which it has none.
 *
 * Copies differ only where they have to, so they are all in the same lists.
 */
export async function copyRows(db: Db, orgId: string, copies: number): Promise<readonly string[]> {
  const empty: string[] = [];
  await db.transaction().execute(async (tx) => {
    // The rows are right: foreign keys need not be checked one by one.
    await sql`set local session_replication_role = replica`.execute(tx);
    for (const table of await tablesOfOrgs(tx)) if (!(await copyRow(tx, table, { orgId, copies }))) empty.push(table);
  });
  await sql`vacuum (analyze)`.execute(db);
  return empty;
}

async function tablesOfOrgs(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class join pg_attribute on attrelid = pg_class.oid and attname = 'org_id'
    where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace
    order by relname`.execute(db);
  return rows.map(({ name }) => name);
}

interface Copied {
  readonly orgId: string;
  readonly copies: number;
}

/** False: there is no row to copy. */
async function copyRow(db: Db, table: string, { orgId, copies }: Copied): Promise<boolean> {
  const columns = await columnsOf(db, table);
  const differing = await differingColumns(db, table);
  const order = columns.some(({ name }) => name === 'id') ? sql`order by id desc` : sql``;
  const { rows } = await sql<{ id?: string | number }>`
    select * from ${sql.table(table)} where org_id = ${orgId} ${order} limit 1`.execute(db);
  const [sample] = rows;
  if (!sample) return false;
  const [prefix] = String(sample.id).split('_');
  const ids = Array.from({ length: copies }, (_, n) =>
    typeof sample.id === 'string' ? newId(prefix as IdPrefix) : String(n),
  );
  const values = columns.map(({ name, type }) =>
    name === 'id' ? sql`copy.id` : differing.has(name) ? different(name, type) : valueOf(name),
  );
  await sql`
    insert into ${sql.table(table)} (${sql.join(columns.map(({ name }) => sql.ref(name)))})
    select ${sql.join(values)}
    from (select * from ${sql.table(table)} where org_id = ${orgId} ${order} limit 1) sample,
      unnest(${ids}::text[]) with ordinality as copy (id, n)`.execute(db);
  return true;
}

/** Rows that lists leave out are taken into them. */
const leftOutSince: ReadonlySet<string> = new Set(['deleted_at', 'resolved_at']);
const valueOf = (name: string): RawBuilder<unknown> =>
  leftOutSince.has(name) ? sql`null` : sql`sample.${sql.ref(name)}`;

function different(name: string, type: string): RawBuilder<unknown> {
  const value = sql`sample.${sql.ref(name)}`;
  switch (type) {
    case 'text':
      return sql`${value} || '-' || copy.n`;
    case 'bytea':
      return sql`sha256(${value} || copy.n::text::bytea)`;
    case 'integer':
    case 'bigint':
      return sql`${value} + copy.n`;
    case 'timestamp with time zone':
      return sql`${value} + make_interval(secs => copy.n)`;
    default:
      throw new Error(`no other value of type ${type} for ${name}`);
  }
}

interface Column {
  readonly name: string;
  readonly type: string;
}

/** The columns of a table that are given a value. */
async function columnsOf(db: Db, table: string): Promise<readonly Column[]> {
  const { rows } = await sql<Column>`
    select attname as name, format_type(atttypid, null) as type from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped
      and attgenerated = '' and attidentity = ''`.execute(db);
  return rows;
}

/** Columns that make rows different from each other, as unique indexes ask for: one of each, with any value. */
async function differingColumns(db: Db, table: string): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ columns: string[] }>`
    select array(
      select attname::text from unnest(indkey) with ordinality as part (no, place)
      join pg_attribute on attrelid = indrelid and attnum = part.no
      where attname <> 'org_id' and not exists (
        select from pg_constraint where conrelid = indrelid and contype = 'c' and attnum = any(conkey))
      order by place) as columns
    from pg_index where indrelid = ${table}::regclass and indisunique order by indisprimary desc`.execute(db);
  const differing = new Set<string>();
  for (const { columns } of rows) {
    const last = columns.at(-1);
    if (last !== undefined && !columns.some((column) => differing.has(column))) differing.add(last);
  }
  return differing;
}
