import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { vi } from 'vitest';
import type { Destination } from '../../../src/core/destinations/destination.ts';
import { openDestination } from '../../../src/core/destinations/registry.ts';
import { parseAllowList } from '../../../src/core/http/addresses.ts';
import { createEgressGuard } from '../../../src/core/http/egress.ts';
import { testDatabaseUrl } from '../service/database-server.ts';
import { destinationDeps } from './destination-deps.ts';
import type { DestinationKind, Place } from './destination-kind.ts';

/** A postgres place also hands out its own connection. */
export interface PostgresPlace extends Place {
  query(sql: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
  /** A destination that logs in as another role. */
  connect(options?: {
    readonly port?: number;
    readonly orgId?: string;
    readonly user?: string;
    readonly password?: string;
  }): Destination;
  /** The process ids of destinations that wait for a lock in this place. */
  waiting(): Promise<readonly unknown[]>;
}

/** PostgreSQL under the conformance suite. */
export const postgresKind: DestinationKind = { name: 'postgres', createPlace: createPostgresPlace };

/** A schema of its own in the test server. */
export async function createPostgresPlace(): Promise<PostgresPlace> {
  const url = testDatabaseUrl();
  const schema = `t_${randomUUID().replaceAll('-', '')}`;
  const client = await connectAdmin();

  const query: PostgresPlace['query'] = async (sql, values = []) => (await client.query(sql, [...values])).rows;
  const waiting = async () => {
    // Within a transaction the server would show what it showed first.
    await query('select pg_stat_clear_snapshot()');
    const rows = await query(
      `select pid from pg_stat_activity
       where application_name = 'connector-sync' and wait_event_type = 'Lock' and query like $1`,
      [`%${schema}%`],
    );
    return rows.map((row) => row['pid']);
  };

  return {
    schema,
    host: '127.0.0.1',
    port: Number(url.port),
    typeNames: { text: 'text', numeric: 'numeric(18,4)' },
    keyTypes: { connectionId: 'text', externalId: 'text' },
    commitMark: null,
    connect: ({ port = Number(url.port), orgId = 'org_1', ...login } = {}) =>
      openDestination({ ...optionsFor(url, port), ...login }, destinationDeps(guardFor(port), { orgId })),
    query,
    waiting,
    rows: (table) => readRows(query, `"${schema}"."${table}"`),
    columnTypes: async (table) => {
      const rows = await query(
        'select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute where attrelid = $1::regclass and attnum > 0',
        [`"${schema}"."${table}"`],
      );
      return Object.fromEntries(rows.map(({ name, type }) => [String(name), String(type)]));
    },
    execute: async (sql) => {
      await client.query(sql);
    },
    whileLocked: async (lane, work) => {
      await query('begin');
      await query(`select from "${schema}"._css_checkpoint where lane = $1 for update`, [lane]);
      await work();
      await query('rollback');
    },
    killWaiting: async () => {
      await vi.waitFor(async () => {
        const [pid] = await waiting();
        if (pid === undefined) throw new Error('nobody waits yet');
        await query('select pg_terminate_backend($1)', [pid]);
      });
    },
    async [Symbol.asyncDispose]() {
      await client.query(`drop schema if exists "${schema}" cascade`);
      await client.end();
    },
  };
}

/** Options of a destination at the test server, reached through `port`. */
export const optionsFor = (url: URL, port: number) => ({
  kind: 'postgres',
  host: '127.0.0.1',
  port,
  database: url.pathname.slice(1),
  user: url.username,
  password: url.password,
  ssl: 'disable',
});

/** A guard that lets one port of 127.0.0.1 through; every name leads there. */
export const guardFor = (port: number) =>
  createEgressGuard({
    allow: parseAllowList(`127.0.0.1:${port}`),
    deny: [],
    allowHttp: false,
    lookup: async () => ['127.0.0.1'],
  });

/** A connection as the server's superuser. */
export async function connectAdmin(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: testDatabaseUrl().href });
  await client.connect();
  await client.query(`set timezone = 'UTC'`);
  return client;
}

async function readRows(query: PostgresPlace['query'], table: string): ReturnType<Place['rows']> {
  const rows = await query(`
    select (select json_object_agg(key, value) from json_each_text(row_to_json(stored_row))) as row
    from ${table} stored_row order by _external_id collate "C"`);
  return rows.map(({ row }) => textRow(row));
}

function textRow(row: unknown): Record<string, string | null> {
  if (typeof row !== 'object' || row === null) throw new Error('not a row');
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value === null ? null : String(value)]));
}
