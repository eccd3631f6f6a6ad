import type { Socket } from 'node:net';
import pg from 'pg';
import { AppError } from '../../errors.ts';
import type { EgressGuard } from '../../http/egress.ts';
import type { PostgresAddress } from './address.ts';
import { isUnreachable } from './errors.ts';
import { CheckedWire, openTransport } from './wire.ts';

/** The wire can be cut when the server no longer responds. */
export interface Connected {
  readonly client: pg.Client;
  readonly wire: CheckedWire;
}

/** Time limits for the server, in milliseconds. */
export interface SessionLimits {
  readonly connectMs: number;
  readonly statementMs: number;
}

export interface ConnectOptions {
  readonly guard: Pick<EgressGuard, 'vetHost'>;
  readonly limits: SessionLimits;
}

/** Addresses of one host to try: two families and a spare. */
const addressesMax = 3;
/** Milliseconds beyond the server's own limit before the client stops waiting for a response. */
export const responseGraceMs = 5000;

/** Connects to the first reachable vetted address. The driver's resolver never sees the host name. */
export async function connectPostgres(address: PostgresAddress, options: ConnectOptions): Promise<Connected> {
  const vetted = await options.guard.vetHost(address.host, address.port);
  if (address.ssl === 'disable' && !vetted.every(({ allowListed }) => allowListed)) {
    const message =
      'The postgres destination sets ssl disable, which is not allowed here; set it to verify-full or require.';
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
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(new Error('timeout expired')), limits.connectMs);
  try {
    const wire = new CheckedWire(await openTransport(ip, address, deadline.signal));
    deadline.signal.addEventListener('abort', () => wire.destroy(deadline.signal.reason), { once: true });
    return await logIn(wire, { address, limits });
  } finally {
    clearTimeout(timer);
  }
}

async function logIn(
  wire: CheckedWire,
  { address, limits }: { readonly address: PostgresAddress; readonly limits: SessionLimits },
): Promise<Connected> {
  const client = new pg.Client({
    // Not looked up: the wire is connected.
    host: address.host,
    port: address.port,
    database: address.database,
    user: address.user,
    // A function, since pg treats an empty text as missing and then reads files.
    password: () => address.password,
    ssl: false,
    // Typed as a whole socket, of which the driver uses only this part.
    stream: () => wire as unknown as Socket,
    types,
    query_timeout: limits.statementMs + responseGraceMs,
    application_name: 'connector-sync',
  });
  // Without a listener, a connection that breaks while idle would end the process.
  client.on('error', () => wire.destroy());
  try {
    await client.connect();
    return { client, wire };
  } catch (error) {
    wire.destroy();
    throw error;
  }
}

/**
 * The server names the type of each column, and the driver parses in a callback of the socket. So nothing is parsed there: every
 * value stays text, and statements read their own.
 */
const types = { getTypeParser: () => asText };
const asText = (text: string): string => text;
