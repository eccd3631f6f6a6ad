import sql, { type ConnectionPool } from 'mssql';
import { type ConnectOptions, connectSqlServer } from './connect.ts';
import { driverError } from './driver-error.ts';
import type { LoadedColumn, Value, Values } from './session.ts';

/** Another driver would mainly change this file, connect.ts and driver-error.ts. */
export interface DriverSession {
  /** Rows of all results, their columns in camelCase. Throws raw errors of the driver. */
  query(sql: string, options: QueryOptions): Promise<readonly Row[]>;
  load(table: string, options: LoadOptions): Promise<void>;
  /** Resolves when the connection is closed and has no more events. */
  close(): Promise<void>;
}

type Row = Readonly<Record<string, unknown>>;

interface QueryOptions {
  readonly values: Values | undefined;
  readonly timeoutMs: number;
}

interface LoadOptions {
  readonly columns: readonly LoadedColumn[];
  readonly rows: AsyncIterable<readonly Value[]>;
}

interface Observer {
  /** The number of cells, plus one for the row itself. */
  readonly onRow: (cells: number) => void;
  readonly onEnd: () => void;
}

const boundedLengthMax = 4000;

/** Throws the error of the server or the network, without the driver's wrapping. */
export async function openDriverSession({
  onRow,
  onEnd,
  ...options
}: ConnectOptions & Observer): Promise<DriverSession> {
  const { pool, connection } = await connectSqlServer(options);
  connection.on('end', onEnd);
  return {
    query: (text, query) => runQuery(pool, { text, onRow, ...query }),
    async load(table, loaded) {
      try {
        await new sql.Request(pool).bulk(bulkTable(table, loaded));
      } catch (error) {
        throw driverError(error);
      }
    },
    async close() {
      connection.removeListener('end', onEnd);
      // A pool waits for requests in progress.
      connection.close();
      await pool.close();
      // The driver finishes closing in the next turns.
      for (let turn = 0; turn < 2; turn += 1) await new Promise<void>((resolve) => void setImmediate(resolve));
    },
  };
}

interface Query extends QueryOptions, Pick<Observer, 'onRow'> {
  readonly text: string;
}

/** The package's types lack the second argument, which its documentation has. */
const TimedRequest = sql.Request as unknown as new (
  pool: ConnectionPool,
  overrides: { readonly requestTimeout: number },
) => sql.Request;

/** Streams rows, so that they are counted before the last one arrives. No prepared handles: they would outlive the statement. */
function runQuery(pool: ConnectionPool, { text, values, timeoutMs, onRow }: Query): Promise<readonly Row[]> {
  const request = new TimedRequest(pool, { requestTimeout: timeoutMs });
  request.stream = true;
  request.arrayRowMode = true;
  for (const [name, value] of Object.entries(values ?? {})) request.input(name, typeOf(value), value);
  const rows: Row[] = [];
  let names: readonly string[] = [];
  let failure: Error | null = null;
  request.on('recordset', (columns: readonly { readonly name: string }[]) => {
    names = columns.map(({ name }) => camelCase(name));
  });
  request.on('row', (cells: readonly unknown[]) => {
    onRow(cells.length + 1);
    rows.push(Object.fromEntries(cells.map((cell, index) => [names[index] ?? '', cell])));
  });
  request.on('error', (error: Error) => {
    failure ??= error;
  });
  return new Promise((resolve, reject) => {
    request.on('done', () => (failure ? reject(driverError(failure)) : resolve(rows)));
    void (values ? request.query(text) : request.batch(text));
  });
}

/** Declares texts at two lengths only, so that the server plans a statement once and not for each length. */
function typeOf(value: Value): sql.ISqlType {
  if (typeof value === 'number') return sql.Int();
  return sql.NVarChar(value !== null && value.length > boundedLengthMax ? sql.MAX : boundedLengthMax);
}

/** Columns are requested in snake_case, since Babelfish may fold case. */
const camelCase = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

/** Passes the iterable of rows to tedious unchanged, so that the process holds only a part of a batch at a time. */
function bulkTable(name: string, { columns, rows }: LoadOptions): sql.Table {
  const table = new sql.Table(name);
  for (const { name: column, type } of columns) {
    if (type === 'int') table.columns.add(column, sql.Int(), { nullable: false });
    else if (type === 'float') table.columns.add(column, sql.Float(), { nullable: true });
    else {
      const length = Number.isFinite(type.characters) ? type.characters : sql.MAX;
      table.columns.add(column, sql.NVarChar(length), { nullable: true });
    }
  }
  return Object.assign(table, { rows: rows as unknown as sql.Table['rows'] });
}
