import { openSqlServer, type SqlServerDeps } from '../../../src/core/destinations/sqlserver/sqlserver.ts';
import { createEgressGuard } from '../../../src/core/http/egress.ts';
import { destinationDeps } from '../destinations/destination-deps.ts';
import type { RequestReply, TdsFake, TdsScript } from './tds-fake.ts';
import type { TdsRequest } from './tds-requests.ts';
import type { TdsRow } from './tds-tokens.ts';

/** Responds to a request; undefined leaves it to {@link laneScript}. */
type Responding = (request: TdsRequest) => RequestReply | undefined;

/**
 * A server on which the table items (column `a`, a text, and `n`, a bigint) and all that goes with it exist, recorded for an
 * org: `org_1` unless given.
 */
export function laneScript(
  responding: Responding = () => undefined,
  owner = () => 'org_1',
): Required<Pick<TdsScript, 'request'>> {
  return { request: (request) => responding(request) ?? usualResponse(request, owner()) };
}

/** The statements that were sent, of all requests but bulk copies. */
export const statementsOf = ({ requests }: TdsFake): readonly string[] =>
  requests.flatMap((request) => (request.kind === 'load' ? [] : [request.sql]));

/** The request that writes a batch. */
export const isBatch = (request: TdsRequest): request is Extract<TdsRequest, { kind: 'statements' }> =>
  request.kind === 'statements' && request.sql.includes('declare @outcome') && !isTrials(request);

/** A request of trials, which find the rows that a server refuses. */
export const isTrials = (request: TdsRequest): boolean =>
  request.kind === 'statements' && request.sql.includes('begin try');

/** What it responds when the rows are written. */
export const written: readonly TdsRow[] = [{ outcome: 'written' }];

/** Options of a destination at a fake on this port. */
const fakeOptions = (port: number): Readonly<Record<string, unknown>> => ({
  kind: 'sqlserver',
  host: '127.0.0.1',
  port,
  database: 'shop',
  user: 'sync',
  password: 'very-secret',
  encrypt: false,
});

/** A guard that lets everything lead to 127.0.0.1. */
export const openGuard: SqlServerDeps['guard'] = {
  ...createEgressGuard({ allow: [], deny: [], allowHttp: false }),
  vetHost: async () => [{ address: '127.0.0.1', family: 4, allowListed: true }],
};

/** A destination at the fake. */
export const connectFake = (
  { port }: Pick<TdsFake, 'port'>,
  changes: Readonly<Record<string, unknown>> = {},
  deps: Partial<SqlServerDeps> = {},
) => openSqlServer({ ...fakeOptions(port), ...changes }, { ...destinationDeps(openGuard), ...deps });

function usualResponse(request: TdsRequest, owner: string): RequestReply {
  if (request.kind === 'load') return [];
  const { sql } = request;
  if (sql.includes('select schema_id(@schema)')) return [{ id: 1 }];
  if (sql.includes('from sys.objects')) return tables.map(({ id, name }) => ({ id, name, kind: 'U ' }));
  const table = tables.find(({ id }) => request.kind === 'statements' && id === request.values['id']);
  if (sql.includes('from sys.columns')) return table?.columns ?? [];
  if (sql.includes('from sys.indexes')) return (table?.key ?? []).map((name) => ({ index_id: 2, name }));
  if (sql.includes('select org_id as org_id')) return [{ org_id: owner }];
  if (sql.includes('sp_getapplock')) return [{ result: 0 }];
  if (sql.includes('declare @taken')) return [{ run_id: null, batch_no: null, receipt: null }];
  return isBatch(request) ? written : [];
}

const column = (name: string, type_name: string, bytes = 8): TdsRow => ({
  name,
  type_name,
  bytes,
  total_digits: 0,
  scale: 0,
  is_nullable: name.startsWith('_') ? 0 : 1,
  is_generated: 0,
});

const tables: readonly {
  readonly id: number;
  readonly name: string;
  readonly columns: readonly TdsRow[];
  readonly key: readonly string[];
}[] = [
  {
    id: 11,
    name: 'items',
    columns: [
      column('_connection_id', 'nvarchar', 200),
      column('_external_id', 'nvarchar', 900),
      column('_run_id', 'nvarchar', 200),
      column('_synced_at', 'datetimeoffset'),
      column('_deleted_at', 'datetimeoffset'),
      column('a', 'nvarchar', -1),
      column('n', 'bigint'),
    ],
    key: ['_connection_id', '_external_id'],
  },
  {
    id: 12,
    name: '_css_checkpoint',
    columns: ['lane', 'fence', 'table_id', 'generation', 'run_id', 'batch_no', 'receipt', 'updated_at'].map((name) =>
      column(name, 'nvarchar'),
    ),
    key: ['lane'],
  },
  { id: 13, name: '_css_columns', columns: [column('table_id', 'int')], key: ['table_id', 'column_name'] },
  {
    id: 14,
    name: '_css_tables',
    columns: ['table_name', 'org_id', 'recorded_at'].map((name) => column(name, 'nvarchar')),
    key: ['table_name'],
  },
];
