import { isIP, Socket } from 'node:net';
import pg from 'pg';
import { AppError } from '../errors.ts';
import type { EgressGuard } from '../http/egress.ts';
import type { PostgresAddress } from './postgres-address.ts';
import { isUnreachable } from './postgres-errors.ts';

/** A connected client with the socket under it, which can be cut when the server no longer answers. */
export interface Connected {
  readonly client: pg.Client;
  readonly socket: Socket;
}

/** Milliseconds a server may take. */
export interface SessionLimits {
  readonly connectMs: number;
  readonly statementMs: number;
}

/** How a session is opened. */
export interface ConnectOptions {
  readonly guard: Pick<EgressGuard, 'vetHost'>;
  readonly limits: SessionLimits;
}

/** Addresses tried of one host: two families and a spare. */
const addressesMax = 3;
/** Milliseconds beyond the server's own limit before the client gives up on an answer. */
export const answerGraceMs = 5000;

/** Connects to the first vetted address that can be reached; the name itself never reaches the driver's resolver. */
export async function connectPostgres(address: PostgresAddress, options: ConnectOptions): Promise<Connected> {
  const vetted = await options.guard.vetHost(address.host, address.port);
  if (address.ssl === 'disable' && !vetted.every(({ allowListed }) => allowListed)) {
    const message = 'The postgres destination asks for ssl disable; set it to verify-full or require.';
    throw new AppError('egress_blocked', message);
  }
  let failure: unknown;
  for (const { address: ip } of vetted.slice(0, addressesMax)) {
    try {
      return await connectTo(ip, { address, limits: options.limits });
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      failure = error;
    }
  }
  throw failure;
}

async function connectTo(
  ip: string,
  { address, limits }: { readonly address: PostgresAddress; readonly limits: SessionLimits },
): Promise<Connected> {
  const socket = new Socket();
  const client = new pg.Client({
    host: ip,
    port: address.port,
    database: address.database,
    user: address.user,
    // A function, since pg takes an empty text for a missing one and then looks into files.
    password: () => address.password,
    ssl: sslOptions(address),
    stream: () => socket,
    keepAlive: true,
    connectionTimeoutMillis: limits.connectMs,
    query_timeout: limits.statementMs + answerGraceMs,
    application_name: 'connector-sync',
  });
  // Without a listener a connection that breaks while idle would end the process.
  client.on('error', () => socket.destroy());
  try {
    await client.connect();
    return { client, socket };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** The certificate is checked against the customer's name, not the address it led to. */
function sslOptions({ host, ssl, ca }: PostgresAddress): pg.ClientConfig['ssl'] {
  if (ssl === 'disable') return false;
  return {
    rejectUnauthorized: ssl === 'verify-full',
    ...(isIP(host) === 0 && { servername: host }),
    ...(ca !== null && { ca }),
  };
}
