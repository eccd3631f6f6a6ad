/** What quiet runs ask of the control database: statements, rows written, bytes of its log. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { testDatabaseUrl } from '../../test/support/service/database-server.ts';

/** Of one statement, per run. */
interface StatementFigure {
  readonly query: string;
  readonly calls: number;
  readonly walBytes: number;
}

/** Of one table, per run. */
interface TableFigure {
  readonly table: string;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
  /** Of the last rows, as they are stored. */
  readonly bytesOfRow: number;
}

/** What the runs took of the database, without what it does for a service at rest. */
export interface DatabaseFigures {
  readonly statements: readonly StatementFigure[];
  readonly tables: readonly TableFigure[];
}

/** Sessions publish what they wrote when they have rested for this long, ms. */
const publishedMs = 11_000;

/** Does the work and tells what each of so many runs took. */
export async function databaseFigures(
  admin: pg.Client,
  runs: number,
  work: () => Promise<unknown>,
): Promise<DatabaseFigures> {
  await admin.query("set pg_stat_statements.track = 'none'");
  await track(admin, 'top');
  // What was written before is published too.
  await sleep(publishedMs);
  const atRest = await counted(admin, () => sleep(publishedMs));
  const busy = await counted(admin, async () => {
    await work();
    // As long as it was watched at rest.
    await sleep(publishedMs);
  });
  await track(admin, 'none');
  const share = busy.seconds / atRest.seconds;
  const perRun = (own: number, resting = 0): number => (own - resting * share) / runs;
  const statements = [...busy.statements].map(([query, { calls, walBytes }]) => {
    const resting = atRest.statements.get(query);
    return { query, calls: perRun(calls, resting?.calls), walBytes: perRun(walBytes, resting?.walBytes) };
  });
  const tables = [...busy.tables].map(([table, { inserted, updated, deleted }]) => {
    const resting = atRest.tables.get(table);
    return {
      table,
      inserted: perRun(inserted, resting?.inserted),
      updated: perRun(updated, resting?.updated),
      deleted: perRun(deleted, resting?.deleted),
    };
  });
  const written = tables.filter(({ inserted, updated, deleted }) => Math.max(inserted, updated, deleted) >= 0.02);
  const sized: TableFigure[] = [];
  for (const table of written) sized.push({ ...table, bytesOfRow: await bytesOfRow(admin, table.table) });
  return { statements: statements.filter(({ calls }) => calls >= 0.02), tables: sized };
}

async function track(admin: pg.Client, what: 'top' | 'none'): Promise<void> {
  await admin.query(`alter system set pg_stat_statements.track = '${what}'`);
  await admin.query('select pg_reload_conf()');
}

type Statement = Omit<StatementFigure, 'query'>;
type Written = Omit<TableFigure, 'table' | 'bytesOfRow'>;

async function counted(admin: pg.Client, work: () => Promise<unknown>) {
  await admin.query('select pg_stat_statements_reset()');
  const before = await writtenRows(admin);
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1000;
  const { rows } = await admin.query<Statement & { readonly query: string }>(statementsSql);
  const statements = new Map(rows.map(({ query, ...statement }) => [query, statement]));
  const tables = new Map<string, Written>();
  for (const [table, after] of await writtenRows(admin)) {
    const from = before.get(table);
    tables.set(table, {
      inserted: after.inserted - (from?.inserted ?? 0),
      updated: after.updated - (from?.updated ?? 0),
      deleted: after.deleted - (from?.deleted ?? 0),
    });
  }
  return { seconds, statements, tables };
}

async function writtenRows(admin: pg.Client): Promise<ReadonlyMap<string, Written>> {
  const { rows } = await admin.query<Written & { readonly table: string }>(writtenSql);
  return new Map(rows.map(({ table, ...written }) => [table, written]));
}

/** The database's own words for a statement, which are the same for all values. */
const statementsSql = `
  select query, sum(calls)::float8 as calls, sum(wal_bytes - 8192 * wal_fpi)::float8 as "walBytes"
  from pg_stat_statements join pg_database on pg_database.oid = dbid
  where datname = current_database() and query not like '%pg_stat%' group by query`;

const writtenSql = `
  select relname as table, n_tup_ins::float8 as inserted, n_tup_upd::float8 as updated, n_tup_del::float8 as deleted
  from pg_stat_user_tables`;

async function bytesOfRow(admin: pg.Client, table: string): Promise<number> {
  const { rows } = await admin.query<{ readonly bytes: number | null }>(
    `select avg(pg_column_size(written))::float8 as bytes from (select * from "${table}" order by ctid desc limit 500) written`,
  );
  return rows[0]?.bytes ?? 0;
}

/** Sessions that these databases of the test server have seen. */
export async function countLogins(databases: readonly string[]): Promise<number> {
  const client = new pg.Client({ connectionString: testDatabaseUrl().href });
  await client.connect();
  const { rows } = await client.query<{ readonly sessions: number }>(
    'select coalesce(sum(sessions), 0)::float8 as sessions from pg_stat_database where datname = any($1)',
    [databases],
  );
  await client.end();
  return rows[0]?.sessions ?? 0;
}
