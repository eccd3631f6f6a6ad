import type { Connection } from 'tedious';
import type { EgressGuard } from '../http/egress.ts';
import type { SqlServerAddress } from './sqlserver-address.ts';
import { guardedConnector } from './sqlserver-connector.ts';
import { loginFailure } from './sqlserver-errors.ts';

/** Milliseconds a server may take. */
export interface SessionLimits {
  readonly connectMs: number;
  readonly statementMs: number;
  /** For a lock that another session holds, before the statement is given up and tried again. */
  readonly lockMs: number;
}

/** How a session is opened. */
export interface ConnectOptions {
  readonly guard: Pick<EgressGuard, 'vetHost'>;
  readonly limits: SessionLimits;
}

/** Milliseconds for the server to confirm that it has given up a statement. */
const cancelMs = 5000;

/** Connects and logs in. The driver (90 MB with all it brings) is loaded by the first destination that needs it. */
export async function connectSqlServer(
  address: SqlServerAddress,
  { guard, limits }: ConnectOptions,
): Promise<Connection> {
  const { Connection } = await import('tedious');
  const connection = new Connection({
    server: address.host,
    authentication: { type: 'default', options: { userName: address.user, password: address.password } },
    options: {
      connector: guardedConnector({ guard, encrypt: address.encrypt }),
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

const connected = (connection: Connection): Promise<void> =>
  new Promise((resolve, reject) => {
    connection.connect((error) => {
      if (error) reject(error);
      else resolve();
    });
  });
