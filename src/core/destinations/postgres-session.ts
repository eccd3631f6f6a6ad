import type { Socket } from 'node:net';
import type pg from 'pg';
import type { PostgresAddress } from './postgres-address.ts';
import { type ConnectOptions, connectPostgres, type SessionLimits } from './postgres-connect.ts';
import { endsConnection } from './postgres-errors.ts';

/** One connection to a customer's server. */
export interface Session extends AsyncDisposable {
  /** The schema that the role writes to when none is named; null when its search path has none. */
  readonly defaultSchema: string | null;
  /** False once the network or the server ended it; a new session must be opened. */
  isUsable(): boolean;
  /** One statement, planned anew each time: poolers between us and the server may not keep prepared ones. */
  query<Row extends pg.QueryResultRow>(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>;
}

/** How long a session waits for the server's goodbye before it cuts the connection. */
const goodbyeMs = 2000;

/**
 * Connects, and makes every session alike whatever the role's and database's own settings are. Statements throw raw
 * errors of pg.
 */
export async function openSession(address: PostgresAddress, options: ConnectOptions): Promise<Session> {
  const { client, socket } = await connectPostgres(address, options);
  const query: Session['query'] = async <Row extends pg.QueryResultRow>(sql: string, values?: readonly unknown[]) => {
    try {
      const result = values ? await client.query<Row>(sql, [...values]) : await client.query<Row>(sql);
      return result.rows;
    } catch (error) {
      if (endsConnection(error)) socket.destroy();
      throw error;
    }
  };
  const close = () => endClient(client, socket);
  try {
    const defaultSchema = await applySettings(query, options.limits);
    return { defaultSchema, isUsable: () => !socket.destroyed, query, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * As statement and not as connection parameters, which poolers refuse. UTC decides what a time without an offset
 * means; read committed is what the claim on the checkpoint row relies on; a frozen process loses its locks.
 */
async function applySettings(query: Session['query'], { statementMs }: SessionLimits): Promise<string | null> {
  const [row] = await query<{ schema: string | null }>(
    `select current_schema() as schema,
       set_config('timezone', 'UTC', false),
       set_config('datestyle', 'ISO, YMD', false),
       set_config('default_transaction_isolation', 'read committed', false),
       set_config('statement_timeout', $1, false),
       set_config('idle_in_transaction_session_timeout', $1, false)`,
    [String(statementMs)],
  );
  return row?.schema ?? null;
}

async function endClient(client: pg.Client, socket: Socket): Promise<void> {
  if (socket.destroyed) return;
  const cut = setTimeout(() => socket.destroy(), goodbyeMs);
  await client.end();
  clearTimeout(cut);
}
