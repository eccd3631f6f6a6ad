import type { Socket } from 'node:net';
import sql, { type ConnectionPool, type config as PoolConfig } from 'mssql';
import type { Connection, ConnectionAuthentication } from 'tedious';
import type { SqlServerAddress, SqlServerLogin } from '../address.ts';
import { loginFailure } from '../server-error.ts';
import { driverError } from './driver-error.ts';
import { cancelMs, type OpenSocket, type SocketTarget } from './messages.ts';
import type { SessionLimits } from './session.ts';

export interface ConnectOptions {
  readonly address: SqlServerAddress;
  readonly login: SqlServerLogin;
  /** Opens the sockets of one login, including those to servers named by redirects. */
  readonly openSocket: OpenSocket;
  readonly limits: SessionLimits;
}

export interface OnePool {
  readonly pool: ConnectionPool;
  readonly connection: Connection;
}

export async function connectSqlServer(options: ConnectOptions): Promise<OnePool> {
  const numbers: number[] = [];
  const config = poolConfig(options);
  // Typed by another declaration of tedious's connection than the actual one.
  config.beforeConnect = (connection: Connection) => {
    // Without a listener, a connection that breaks while idle would end the process.
    connection.on('error', () => connection.close());
    connection.on('errorMessage', ({ number }) => numbers.push(number));
  };
  const pool = new sql.ConnectionPool(config);
  pool.on('error', () => undefined);
  const connection = oneConnection(pool);
  try {
    await pool.connect();
  } catch (error) {
    throw loginFailure(driverError(error), numbers[0] ?? null);
  }
  return { pool, connection: connection() };
}

function poolConfig({ address, login, openSocket, limits }: ConnectOptions): PoolConfig {
  return {
    server: address.host,
    authentication: authenticationOf(login),
    // A query before each query would only find what the query itself finds.
    validateConnection: 'socket',
    // Kept however long a lane waits for its next page: its temporary tables live in the connection.
    pool: { min: 1, max: 1 },
    options: {
      connector: connectorOf(openSocket),
      port: address.port,
      database: address.database,
      encrypt: address.encrypt,
      trustServerCertificate: false,
      ...(address.ca !== null && { cryptoCredentialsDetails: { ca: address.ca } }),
      connectTimeout: limits.connectMs,
      requestTimeout: limits.statementMs,
      cancelTimeout: cancelMs,
      // A login retried by the driver would bypass the guard.
      maxRetriesOnTransientErrors: 0,
      appName: 'connector-sync',
      abortTransactionOnError: true,
      enableImplicitTransactions: false,
    },
  };
}

function authenticationOf(login: SqlServerLogin): ConnectionAuthentication {
  if ('token' in login) return { type: 'azure-active-directory-access-token', options: { token: login.token } };
  return { type: 'default', options: { userName: login.user, password: login.password } };
}

/** Relies on the undocumented arguments that tedious gives a connector; a contract test checks them. */
const connectorOf =
  (openSocket: OpenSocket) =>
  async (...given: readonly unknown[]): Promise<Socket> => {
    const [{ host, port }, , signal] = given as [SocketTarget, unknown, AbortSignal];
    return await openSocket({ host, port }, signal);
  };

/** Undocumented methods of a pool; a contract test checks that there is one login. */
interface PoolParts {
  _poolCreate(): Promise<Connection>;
  _poolDestroy(connection: Connection): Promise<void>;
}

/**
 * A pool tests its options with a connection that it closes, and logs in again for its first request. Here the first connection
 * is kept, which halves the logins. A broken one is not replaced, since the session's settings and staged rows are lost with it.
 */
function oneConnection(pool: ConnectionPool): () => Connection {
  const parts = pool as unknown as PoolParts;
  const [create, destroy] = [parts._poolCreate.bind(pool), parts._poolDestroy.bind(pool)];
  let first: Connection | null = null;
  let isTried = false;
  parts._poolCreate = async () => {
    if (first?.closed === false) return first;
    if (first) throw Object.assign(new Error('The connection is over'), { code: 'ECLOSE' });
    first = await create();
    return first;
  };
  parts._poolDestroy = async (connection) => {
    if (isTried) return await destroy(connection);
    isTried = true;
  };
  return () => {
    if (first) return first;
    throw new Error('There is no connection');
  };
}
