import { type BulkLoad, type Connection, Request, TYPES } from 'tedious';
import type { SqlServerAddress } from '../address.ts';
import { type ConnectOptions, connectSqlServer } from './connect.ts';
import type { LoadedColumn, Value, Values } from './session.ts';

/** A connection of the driver, in the process that is its own. Another driver changes this file and the one that connects. */
export interface DriverSession {
  /** The rows of all results, their columns in camelCase. Throws raw errors of the driver. */
  query(sql: string, options: QueryOptions): Promise<readonly Row[]>;
  /** Bulk copy of what `rows` brings. */
  load(table: string, options: LoadOptions): Promise<void>;
  /** Resolves when the connection is closed and nothing of it is left to be told. */
  close(): Promise<void>;
}

/** A row: values by name. */
export type Row = Readonly<Record<string, unknown>>;

/** A statement, beside its text. */
interface QueryOptions {
  readonly values: Values | undefined;
  /** Milliseconds until it is given up. */
  readonly timeoutMs: number;
}

/** A bulk copy, beside its table. */
interface LoadOptions {
  readonly columns: readonly LoadedColumn[];
  readonly rows: AsyncIterable<readonly Value[]>;
}

/** What a session tells while it lasts. */
interface Observer {
  /** A result has one more row, of so many cells and one for itself. */
  readonly onRow: (cells: number) => void;
  /** The network or the server has ended the connection. */
  readonly onEnd: () => void;
}

/** Longest n of nvarchar(n); a longer text is nvarchar(max). */
const boundedLengthMax = 4000;

/** Connects and logs in. */
export async function openDriverSession(
  address: SqlServerAddress,
  { onRow, onEnd, ...options }: ConnectOptions & Observer,
): Promise<DriverSession> {
  const connection = await connectSqlServer(address, options);
  connection.on('end', onEnd);
  return {
    query: (sql, { values, timeoutMs }) =>
      new Promise((resolve, reject) => {
        const rows: Row[] = [];
        const request = new Request(sql, (error) => (error ? reject(error) : resolve(rows)));
        request.on('row', (columns: RowColumns) => {
          const row = plainRow(columns);
          onRow(Object.keys(row).length + 1);
          rows.push(row);
        });
        request.setTimeout(timeoutMs);
        execute(connection, request, values);
      }),
    load: (table, { columns, rows }) =>
      new Promise((resolve, reject) => {
        const load = connection.newBulkLoad(table, (error) => (error ? reject(error) : resolve()));
        for (const column of columns) addColumn(load, column);
        connection.execBulkLoad(load, rows as AsyncIterable<Value[]>);
      }),
    async close() {
      connection.removeListener('end', onEnd);
      connection.close();
      // What the driver still does about the end, it does in the next turns.
      for (let turn = 0; turn < 2; turn += 1) await new Promise<void>((resolve) => void setImmediate(resolve));
    },
  };
}

/**
 * No prepared handles: they would outlive the statement. Texts are declared at two lengths only, so that the server
 * plans a statement once and not for each length.
 */
function execute(connection: Connection, request: Request, values: Values | undefined): void {
  if (!values) return connection.execSqlBatch(request);
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'number') request.addParameter(name, TYPES.Int, value);
    else {
      const length = value !== null && value.length > boundedLengthMax ? Infinity : boundedLengthMax;
      request.addParameter(name, TYPES.NVarChar, value, { length });
    }
  }
  connection.execSql(request);
}

type RowColumns = Readonly<Record<string, { readonly value: unknown }>>;

/** Columns are asked for in snake_case, since Babelfish may fold case. */
const plainRow = (columns: RowColumns): Row =>
  Object.fromEntries(Object.entries(columns).map(([name, { value }]) => [camelCase(name), value]));

const camelCase = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

function addColumn(load: BulkLoad, { name, type }: LoadedColumn): void {
  if (type === 'int') load.addColumn(name, TYPES.Int, { nullable: false });
  else if (type === 'float') load.addColumn(name, TYPES.Float, { nullable: true });
  else load.addColumn(name, TYPES.NVarChar, { length: type.characters, nullable: true });
}
