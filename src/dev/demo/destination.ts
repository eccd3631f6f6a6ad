/** The destination as its owner sees it: a database of its own, read by SQL and not through the service. */
import pg from 'pg';
import { targetTable } from './specs.ts';

const databaseName = 'demo_destination';
const target = `${targetTable.schema}.${targetTable.table}`;

export interface CityRow {
  readonly id: string;
  readonly name: string;
  readonly country: string;
  readonly region: string | null;
  readonly lat: number;
  readonly lng: number;
  readonly updated_at: Date;
}

interface WriteAudit {
  readonly rows: number;
  /** Inserts beyond the first of each row. */
  readonly insertedAgain: number;
  readonly updates: number;
}

export interface DemoDestination extends AsyncDisposable {
  readonly url: string;
  firstRows(connectionId: string, limit: number): Promise<readonly CityRow[]>;
  newestRows(connectionId: string, limit: number): Promise<readonly CityRow[]>;
  countRows(connectionId: string): Promise<number>;
  /** 0 before the first row, and before the table exists. */
  greatestId(connectionId: string): Promise<number>;
  /** By triggers unknown to the service. */
  startAudit(): Promise<void>;
  readAudit(connectionId: string): Promise<WriteAudit>;
}

export async function openDemoDestination(controlUrl: string): Promise<DemoDestination> {
  await recreate(controlUrl);
  const url = destinationUrl(controlUrl);
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  // The server stops before the pool closes when another process ends it: nothing to do.
  pool.on('error', () => undefined);
  const cities = async (connectionId: string, order: string, limit: number) =>
    (await pool.query<CityRow>(`${selectCities} order by ${order} limit ${limit}`, [connectionId])).rows;
  const one = async (sql: string, connectionId: string): Promise<number> =>
    Number((await pool.query<{ value: string }>(sql, [connectionId])).rows[0]?.value ?? 0);
  return {
    url,
    firstRows: (connectionId, limit) => cities(connectionId, 'id', limit),
    newestRows: (connectionId, limit) => cities(connectionId, 'updated_at desc, id', limit),
    countRows: (connectionId) => one(`select count(*) as value from ${target} where _connection_id = $1`, connectionId),
    greatestId: async (connectionId) => {
      const { rowCount } = await pool.query(`select where to_regclass('${target}') is not null`);
      return rowCount === 0 ? 0 : one(`select max(id) as value from ${target} where _connection_id = $1`, connectionId);
    },
    startAudit: async () => void (await pool.query(auditSql)),
    readAudit: async (connectionId) => {
      const { rows } = await pool.query<Record<keyof WriteAudit, string>>(readAuditSql, [connectionId]);
      const [found] = rows;
      return {
        rows: Number(found?.rows),
        insertedAgain: Number(found?.insertedAgain),
        updates: Number(found?.updates),
      };
    },
    [Symbol.asyncDispose]: () => pool.end(),
  };
}

function destinationUrl(controlUrl: string): string {
  const url = new URL(controlUrl);
  url.pathname = `/${databaseName}`;
  return url.href;
}

async function recreate(controlUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: controlUrl });
  await client.connect();
  try {
    await client.query(`drop database if exists ${databaseName} with (force)`);
    await client.query(`create database ${databaseName}`);
  } finally {
    await client.end();
  }
}

const selectCities = `select id, name, country, region, lat, lng, updated_at from ${target} where _connection_id = $1`;

/** The service makes the table in its first run, so a trigger on its creation adds the audit triggers. */
const auditSql = `
  create schema audit;
  create table audit.writes (operation text, connection_id text, external_id text);
  create function audit.note() returns trigger language plpgsql as $$
    begin
      insert into audit.writes select tg_op, _connection_id, _external_id from written;
      return null;
    end $$;
  create function audit.watch() returns event_trigger language plpgsql as $$
    begin
      if exists (select from pg_event_trigger_ddl_commands() where object_identity = '${target}') then
        create trigger audit_insert after insert on ${target}
          referencing new table as written for each statement execute function audit.note();
        create trigger audit_update after update on ${target}
          referencing new table as written for each statement execute function audit.note();
      end if;
    end $$;
  create event trigger audit on ddl_command_end when tag in ('CREATE TABLE') execute function audit.watch();`;

const readAuditSql = `
  select count(distinct external_id) as "rows",
    count(*) filter (where operation = 'INSERT') - count(distinct external_id) filter (where operation = 'INSERT') as "insertedAgain",
    count(*) filter (where operation = 'UPDATE') as "updates"
  from audit.writes where connection_id = $1`;
