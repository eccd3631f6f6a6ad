import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { testDatabaseUrl } from '../service/database-server.ts';
import { eventually } from '../service/eventually.ts';

/** Writes to a table since its audit began, committed ones only. */
interface Writes {
  /** Distinct rows that were inserted. */
  readonly rows: number;
  readonly inserts: number;
  readonly updates: number;
  readonly deletes: number;
}

/** A customer's database whose writes are counted. */
export interface CountedDestination extends AsyncDisposable {
  /** The `destination` of a spec, which finds {@link CountedDestination.secret} at `secrets.destination`; or none. */
  readonly declared: Readonly<Record<string, unknown>> | undefined;
  readonly secret: string;
  /** Rows of a table. */
  count(table: string): Promise<number>;
  /** Counts every insert, update and delete of a row from now on, in the very transaction that makes it. */
  audit(table: string): Promise<void>;
  /** Of the table under audit. */
  writes(): Promise<Writes>;
  /** Resolves when no session but ours is left: what a killed process had sent has ended, one way or the other. */
  quiet(): Promise<void>;
}

/** A customer's PostgreSQL database. */
export interface AuditedDestination extends CountedDestination {
  readonly url: string;
  query<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]>;
}

/** Makes an empty database on the test server; disposing drops it. */
export async function openAuditedDestination(): Promise<AuditedDestination> {
  const name = `dest_${randomBytes(6).toString('hex')}`;
  await onServer(`create database ${name} strategy file_copy`);
  const url = testDatabaseUrl();
  url.pathname = `/${name}`;
  const pool = new pg.Pool({ connectionString: url.href, max: 2, application_name: 'test' });
  pool.on('error', () => undefined);
  const query = async <Row extends pg.QueryResultRow>(sql: string) => (await pool.query<Row>(sql)).rows;
  return {
    url: url.href,
    declared: { kind: 'postgres', url: '{{ secrets.destination }}', ssl: 'disable' },
    secret: url.href,
    query,
    async count(table) {
      const [stored] = await query<{ count: string }>(`select count(*) from ${table}`);
      return Number(stored?.count);
    },
    async audit(table) {
      await pool.query(auditSql(table));
    },
    async writes() {
      const [writes] = await query<Record<string, string>>(countSql);
      const count = (key: keyof Writes) => Number(writes?.[key]);
      return { rows: count('rows'), inserts: count('inserts'), updates: count('updates'), deletes: count('deletes') };
    },
    async quiet() {
      const others = "select from pg_stat_activity where datname = current_database() and application_name <> 'test'";
      await eventually('the destination is quiet', async () => (await query(others)).length === 0, { everyMs: 20 });
    },
    async [Symbol.asyncDispose]() {
      await pool.end();
      await onServer(`drop database ${name} with (force)`);
    },
  };
}

/** On a connection of its own, which a destination that nobody disposes of does not keep. */
async function onServer(statement: string): Promise<void> {
  const server = new pg.Client({ connectionString: testDatabaseUrl().href });
  await server.connect();
  try {
    await server.query(statement);
  } finally {
    await server.end();
  }
}

const triggerSql = (table: string, operation: string, rows: 'new' | 'old'): string => `
  create trigger audit_${operation} after ${operation} on ${table} referencing ${rows} table as written
    for each statement execute function audit_note();`;

const auditSql = (table: string): string => `
  create table audit_log (operation text not null, external_id text not null);
  create function audit_note() returns trigger language plpgsql as $$
    begin insert into audit_log select tg_op, _external_id from written; return null; end $$;
  ${triggerSql(table, 'insert', 'new')} ${triggerSql(table, 'update', 'new')} ${triggerSql(table, 'delete', 'old')}`;

const countSql = `
  select count(distinct external_id) filter (where operation = 'INSERT') as rows,
    count(*) filter (where operation = 'INSERT') as inserts, count(*) filter (where operation = 'UPDATE') as updates,
    count(*) filter (where operation = 'DELETE') as deletes
  from audit_log`;
