import type { BulkLoad, Connection, Request, TYPES } from 'tedious';
import type { SqlSession } from './sql-destination.ts';
import type { SqlServerAddress } from './sqlserver-address.ts';
import { type ConnectOptions, connectSqlServer } from './sqlserver-connect.ts';
import { endsConnection } from './sqlserver-errors.ts';

/** A parameter of a statement: text, a whole number of 32 bits, or null for a text that is not there. */
type Value = string | number | null;

/** A column of a bulk load: characters at most (Infinity: no bound), whole numbers, or double precision. */
export interface LoadedColumn {
  readonly name: string;
  readonly type: { readonly characters: number } | 'int' | 'float';
}

/** Rows on their way into a table of the session. */
export interface Load {
  readonly table: string;
  readonly columns: readonly LoadedColumn[];
  readonly rows: Value[][];
}

/** One connection to a customer's server. Statements throw raw errors of tedious. */
export interface Session extends SqlSession {
  /**
   * One or more statements; the rows of all of them, their columns in camelCase. With values they are a scope of their own (sp_executesql), so a
   * temporary table that they make ends with them.
   */
  query<Row = never>(sql: string, values?: Readonly<Record<string, Value>>): Promise<readonly Row[]>;
  /** As query, for statements whose time grows with the table: they may take half an hour. */
  queryAll<Row = never>(sql: string, values: Readonly<Record<string, Value>>): Promise<readonly Row[]>;
  /** Bulk copy, many times as fast as inserts. */
  load(load: Load): Promise<void>;
}

/** Milliseconds for statements over all rows of a connection: ten million rows take a few minutes. */
const queryAllMs = 30 * 60_000;

/** Longest n of nvarchar(n); a longer text is nvarchar(max). */
const boundedLengthMax = 4000;

/** Connects, and makes every session alike whatever the server's own settings are. */
export async function openSession(address: SqlServerAddress, options: ConnectOptions): Promise<Session> {
  const connection = await connectSqlServer(address, options);
  const tedious = await import('tedious');
  let isUsable = true;
  connection.on('end', () => {
    isUsable = false;
  });

  const guarded = async <Result>(work: Promise<Result>): Promise<Result> => {
    try {
      return await work;
    } catch (error) {
      if (endsConnection(error)) {
        isUsable = false;
        connection.close();
      }
      throw error;
    }
  };
  const run = <Row>(sql: string, { values, timeoutMs }: RunOptions): Promise<readonly Row[]> =>
    guarded(
      new Promise((resolve, reject) => {
        const rows: Row[] = [];
        const request = new tedious.Request(sql, (error) => (error ? reject(error) : resolve(rows)));
        request.on('row', (columns: RowColumns) => rows.push(plainRow(columns) as Row));
        if (timeoutMs !== undefined) request.setTimeout(timeoutMs);
        execute(connection, { request, values, types: tedious.TYPES });
      }),
    );

  const session: Session = {
    isUsable: () => isUsable,
    query: (sql, values) => run(sql, { values }),
    queryAll: (sql, values) => run(sql, { values, timeoutMs: queryAllMs }),
    load: ({ table, columns, rows }) =>
      guarded(
        new Promise((resolve, reject) => {
          const load = connection.newBulkLoad(table, (error) => (error ? reject(error) : resolve()));
          for (const column of columns) addColumn(load, { column, types: tedious.TYPES });
          connection.execBulkLoad(load, rows);
        }),
      ),
    async [Symbol.asyncDispose]() {
      isUsable = false;
      connection.close();
    },
  };
  await session.query(settingsSql(options.limits.lockMs));
  return session;
}

interface RunOptions {
  readonly values?: Readonly<Record<string, Value>> | undefined;
  readonly timeoutMs?: number;
}

interface Execution {
  readonly request: Request;
  readonly values: Readonly<Record<string, Value>> | undefined;
  readonly types: typeof TYPES;
}

/**
 * No prepared handles: they would outlive the statement. Texts are declared at two lengths only, so that the server
 * plans a statement once and not for each length.
 */
function execute(connection: Connection, { request, values, types }: Execution): void {
  if (!values) return connection.execSqlBatch(request);
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'number') request.addParameter(name, types.Int, value);
    else {
      const length = value !== null && value.length > boundedLengthMax ? Infinity : boundedLengthMax;
      request.addParameter(name, types.NVarChar, value, { length });
    }
  }
  connection.execSql(request);
}

type RowColumns = Readonly<Record<string, { readonly value: unknown }>>;

/** Columns are asked for in snake_case, since Babelfish may fold case. */
const plainRow = (columns: RowColumns): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(columns).map(([name, { value }]) => [camelCase(name), value]));

const camelCase = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

function addColumn(
  load: BulkLoad,
  { column: { name, type }, types }: { readonly column: LoadedColumn; readonly types: typeof TYPES },
): void {
  if (type === 'int') load.addColumn(name, types.Int, { nullable: false });
  else if (type === 'float') load.addColumn(name, types.Float, { nullable: true });
  else load.addColumn(name, types.NVarChar, { length: type.characters, nullable: true });
}

/**
 * The driver sets the rest when it logs in (read committed, ANSI settings, language, date format, xact_abort); what
 * the claim on the checkpoint row relies on is said once more.
 */
const settingsSql = (lockMs: number): string => `
  set nocount on;
  set xact_abort on;
  set implicit_transactions off;
  set transaction isolation level read committed;
  set lock_timeout ${lockMs};`;
