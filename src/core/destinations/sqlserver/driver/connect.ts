import type { Socket } from 'node:net';
import { Connection } from 'tedious';
import type { SqlServerAddress } from '../address.ts';
import { loginFailure } from '../errors.ts';
import { cancelMs, type OpenSocket, type SocketTarget } from './messages.ts';
import type { SessionLimits } from './session.ts';

/** How a session is opened. */
export interface ConnectOptions {
  /** Opens the sockets of one login, those to the servers that the first one names too. */
  readonly openSocket: OpenSocket;
  readonly limits: SessionLimits;
}

/** Connects and logs in. */
export async function connectSqlServer(
  address: SqlServerAddress,
  { openSocket, limits }: ConnectOptions,
): Promise<Connection> {
  const connection = new Connection({
    server: address.host,
    authentication: { type: 'default', options: { userName: address.user, password: address.password } },
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
      // A login that the driver repeats by itself would not be the guarded one.
      maxRetriesOnTransientErrors: 0,
      appName: 'connector-sync',
      abortTransactionOnError: true,
      enableImplicitTransactions: false,
      useColumnNames: true,
    },
  });
  // Without a listener a connection that breaks while idle would end the process.
  connection.on('error', () => connection.close());
  const numbers: number[] = [];
  connection.on('errorMessage', ({ number }) => numbers.push(number));
  try {
    await connected(connection);
    return connection;
  } catch (error) {
    connection.close();
    throw loginFailure(error, numbers[0] ?? null);
  } finally {
    connection.removeAllListeners('errorMessage');
  }
}

/** What tedious hands to a connector without saying so in its documentation; a contract test holds it. */
const connectorOf =
  (openSocket: OpenSocket) =>
  async (...given: readonly unknown[]): Promise<Socket> => {
    const [{ host, port }, , signal] = given as [SocketTarget, unknown, AbortSignal];
    return await openSocket({ host, port }, signal);
  };

const connected = (connection: Connection): Promise<void> =>
  new Promise((resolve, reject) => {
    connection.connect((error) => {
      if (error) reject(error);
      else resolve();
    });
  });
