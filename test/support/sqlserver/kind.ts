import { randomUUID } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { Connection, Request } from 'tedious';
import { vi } from 'vitest';
import { openDestination } from '../../../src/core/destinations/registry.ts';
import { parseAllowList } from '../../../src/core/http/addresses.ts';
import { createEgressGuard } from '../../../src/core/http/egress.ts';
import { destinationDeps } from '../destinations/destination-deps.ts';
import type { DestinationKind, Place } from '../destinations/destination-kind.ts';

/** SQL Server under the conformance suite; only where `TEST_SQLSERVER_URL` says which server. */
export const sqlServerKind: DestinationKind = { name: 'sqlserver', createPlace: createSqlServerPlace };

/** `sqlserver://user:password@host:port/database?encrypt=false`; null when the tests have no server. */
export const sqlServerUrl = (): URL | null => {
  const url = process.env['TEST_SQLSERVER_URL'];
  return url ? new URL(url) : null;
};

/** A schema of its own in the server. */
async function createSqlServerPlace(): Promise<Place> {
  const url = sqlServerUrl();
  if (!url) throw new Error('TEST_SQLSERVER_URL is not set');
  const schema = `t_${randomUUID().replaceAll('-', '')}`;
  const { address } = await lookup(url.hostname);
  const port = Number(url.port || 1433);
  const server = { host: address, port };
  const query = await connectAdmin(url);

  return {
    schema,
    ...server,
    typeNames: { text: 'nvarchar(max)', numeric: 'decimal(18,4)' },
    keyTypes: keyTypes('Latin1_General_100_BIN2'),
    // Several requests make a batch; this is in the one that commits.
    commitMark: Buffer.from('declare @outcome', 'utf16le'),
    connect: ({ port: proxyPort, orgId = 'org_1' } = {}) => {
      const target = proxyPort === undefined ? server : { host: '127.0.0.1', port: proxyPort };
      return openDestination(optionsFor(url, target), destinationDeps(guardFor(target), { orgId }));
    },
    rows: async (table) => {
      const types = await query(columnTypesSql(schema, table));
      const columns = types.map(({ name, type }) => textSql(String(name), String(type)));
      // A reader that locks the table sees none of the steps of a writer.
      const rows = await query(
        `select ${columns.join(', ')} from "${schema}"."${table}" with (tablock, holdlock) order by _external_id`,
      );
      return rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value === null ? null : printed(value)])),
      );
    },
    columnTypes: async (table) => {
      const types = await query(columnTypesSql(schema, table));
      return Object.fromEntries(types.map(({ name, type }) => [String(name), String(type)]));
    },
    execute: async (sql) => {
      await query(sql);
    },
    whileLocked: async (lane, work) => {
      await query(
        `begin transaction; update "${schema}"._css_checkpoint set updated_at = updated_at where lane = N'${lane}'`,
      );
      await work();
      await query('rollback transaction');
    },
    killWaiting: async () => {
      await vi.waitFor(async () => {
        const [waiting] = await query('select spid as spid from sys.sysprocesses where blocked = @@spid');
        if (!waiting) throw new Error('nobody waits yet');
        // Not from within the transaction that the other one waits for.
        const killer = await connectAdmin(url);
        await killer(`kill ${Number(waiting['spid'])}`);
        killer.close();
      });
    },
    async [Symbol.asyncDispose]() {
      const tables = await query(
        `select o.name as name from sys.objects as o where o.schema_id = schema_id(N'${schema}') and o.type = 'U'
         order by case when o.name = 'refs' then 0 else 1 end`,
      );
      for (const { name } of tables) await query(`drop table "${schema}"."${String(name)}"`);
      await query(`drop schema if exists "${schema}"`);
      query.close();
    },
  };
}

const keyTypes = (collation: string): Place['keyTypes'] => ({
  connectionId: `nvarchar(100) collate ${collation}`,
  externalId: `nvarchar(450) collate ${collation}`,
});

interface Server {
  readonly host: string;
  readonly port: number;
}

/** Options of a destination at the server, reached at this host and port. */
export const optionsFor = (url: URL, { host, port }: Server) => ({
  kind: 'sqlserver',
  host,
  port,
  ...loginOf(url),
  encrypt: isEncrypted(url),
});

const loginOf = (url: URL) => ({
  database: decodeURIComponent(url.pathname.slice(1)),
  user: decodeURIComponent(url.username),
  password: decodeURIComponent(url.password),
});

const isEncrypted = (url: URL): boolean => url.searchParams.get('encrypt') !== 'false';

const guardFor = ({ host, port }: Server) =>
  createEgressGuard({ allow: parseAllowList(`${host}:${port}`), deny: [], allowHttp: false });

type Row = Readonly<Record<string, unknown>>;

/** A connection of the test's own; one statement after the other. */
async function connectAdmin(url: URL): Promise<((sql: string) => Promise<readonly Row[]>) & { close(): void }> {
  const { database, user: userName, password } = loginOf(url);
  const connection = new Connection({
    server: url.hostname,
    authentication: { type: 'default', options: { userName, password } },
    options: {
      port: Number(url.port || 1433),
      database,
      encrypt: isEncrypted(url),
      trustServerCertificate: true,
      useColumnNames: true,
    },
  });
  await new Promise<void>((resolve, reject) => {
    connection.connect((error) => (error ? reject(error) : resolve()));
  });
  const query = (sql: string) =>
    new Promise<readonly Row[]>((resolve, reject) => {
      const rows: Row[] = [];
      const request = new Request(sql, (error) => (error ? reject(error) : resolve(rows)));
      request.on('row', (columns: Readonly<Record<string, { readonly value: unknown }>>) => {
        rows.push(Object.fromEntries(Object.entries(columns).map(([name, { value }]) => [name, value])));
      });
      connection.execSqlBatch(request);
    });
  return Object.assign(query, { close: () => connection.close() });
}

const columnTypesSql = (schema: string, table: string): string => `
  select column_name as name, data_type as type from information_schema.columns
  where table_schema = N'${schema}' and table_name = N'${table}' order by ordinal_position`;

/** What the driver would read with a loss, as text. */
function textSql(name: string, type: string): string {
  const isLossy = ['decimal', 'numeric', 'bigint', 'datetimeoffset', 'date', 'uniqueidentifier'].includes(type);
  return `${isLossy ? `cast("${name}" as nvarchar(60))` : `"${name}"`} as "${name}"`;
}

/** As PostgreSQL prints it, so that one table of values serves both. */
function printed(value: unknown): string {
  if (typeof value !== 'string') return String(value);
  const time = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))? ?\+00:00$/.exec(value);
  if (time) {
    const fraction = (time[3] ?? '').replace(/0+$/, '');
    return `${time[1]}T${time[2]}${fraction && '.'}${fraction}+00:00`;
  }
  if (/^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$/.test(value)) return value.toLowerCase();
  return /^[{[]/.test(value) ? printedJson(JSON.parse(value)) : value;
}

function printedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(printedJson).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => a.length - b.length || (a < b ? -1 : 1));
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}: ${printedJson(inner)}`).join(', ')}}`;
}
