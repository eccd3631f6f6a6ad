import { EventEmitter, once } from 'node:events';
import { isIP, Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { PostgresAddress } from './address.ts';
import type { FrameChecker } from './frames.ts';
import { createFrameChecker } from './frames.ts';
import { PostgresProtocolError } from './message.ts';

export type Transport = Socket | TLSSocket;

/** SSLRequest of the protocol: length and number. */
const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/**
 * Encryption is done here, not in the driver, so that bytes are checked before the driver parses them. Throws {@link
 * PostgresProtocolError} and errors of the network and of TLS.
 */
export async function openTransport(ip: string, address: PostgresAddress, signal: AbortSignal): Promise<Transport> {
  const socket = new Socket();
  try {
    socket.connect({ host: ip, port: address.port });
    await once(socket, 'connect', { signal });
    socket.setNoDelay(true);
    socket.setKeepAlive(true);
    if (address.ssl === 'disable') return socket;
    socket.write(sslRequest);
    const [response] = await once(socket, 'data', { signal });
    requireEncryption(response);
    const encrypted = connectTls({ socket, host: ip, ...tlsOptions(address) });
    await once(encrypted, 'secureConnect', { signal });
    return encrypted;
  } catch (error) {
    socket.destroy();
    throw signal.aborted ? signal.reason : error;
  }
}

/** Bytes after the first one would count as encrypted, although an attacker on the path could have put them there. */
function requireEncryption(response: Buffer): void {
  const text = response.toString('latin1');
  if (text === 'S') return;
  if (text === 'N') throw new Error('The server does not support SSL connections');
  throw new PostgresProtocolError("the server does not follow PostgreSQL's protocol; check host and port");
}

/** The certificate is checked against the customer's host name, not the address it resolved to. */
const tlsOptions = ({ host, ssl, ca }: PostgresAddress) => ({
  rejectUnauthorized: ssl === 'verify-full',
  ...(isIP(host) === 0 && { servername: host }),
  ...(ca !== null && { ca }),
});

/** The socket as the driver sees it. Errors of the driver's parser end the transport, never the process. */
export class CheckedWire extends EventEmitter implements Pick<FrameChecker, 'expectResponse'> {
  readonly #transport: Transport;
  readonly #checker = createFrameChecker();

  constructor(transport: Transport) {
    super();
    this.#transport = transport;
    for (const event of ['end', 'close', 'error', 'drain'] as const) {
      transport.on(event, (...values: unknown[]) => this.emit(event, ...values));
    }
  }

  expectResponse: FrameChecker['expectResponse'] = (limits) => this.#checker.expectResponse(limits);

  /** Called by the driver once it listens. */
  connect(): void {
    this.#transport.on('data', (chunk: Buffer) => this.#take(chunk));
    process.nextTick(() => this.emit('connect'));
  }

  #take(chunk: Buffer): void {
    if (this.destroyed) return;
    try {
      const messages = this.#checker.push(chunk);
      if (messages) this.emit('data', messages);
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error('The driver failed', { cause: error }));
    }
  }

  get destroyed(): boolean {
    return this.#transport.destroyed;
  }

  get writable(): boolean {
    return this.#transport.writable;
  }

  write(bytes: Buffer, done?: (error?: Error | null) => void): boolean {
    return this.#transport.write(bytes, done);
  }

  cork(): void {
    this.#transport.cork();
  }

  uncork(): void {
    this.#transport.uncork();
  }

  end(): void {
    this.#transport.end();
  }

  destroy(error?: Error): void {
    this.#transport.destroy(error);
  }

  ref(): void {
    this.#transport.ref();
  }

  unref(): void {
    this.#transport.unref();
  }

  // Set once, when the transport was opened.
  setNoDelay(): void {}
  setKeepAlive(): void {}
}
