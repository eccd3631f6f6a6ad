import { randomUUID } from 'node:crypto';
import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ErrorBody } from '../../core/resources/error.ts';
import { wireRejections } from '../errors.ts';

/** For a request whose line or Host header is not a URL; the app never sees it. */
export function refuseAddress(): Response {
  const { status, message } = wireRejections.address;
  return new Response(JSON.stringify(bodyOf(message)), { status, headers: headersOf() });
}

/** Gives refusals of Node's parser the form of every other error; without this they have no body. */
export function respondToParserErrors(server: Server): void {
  const responses = new WeakMap<Duplex, ServerResponse>();
  server.on('request', ({ socket }, outgoing) => responses.set(socket, outgoing));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const response = responses.get(socket);
    // After the head of a response, this one would be read as its body.
    const isResponding = response?.headersSent === true && !response.writableFinished;
    if (!socket.writable || error.code === 'ECONNRESET' || isResponding) socket.destroy();
    else socket.end(messageFor(error.code), () => socket.destroy());
  });
}

/** By Node's code; any other is `not_http`. */
const reasons: Readonly<Record<string, keyof typeof wireRejections>> = {
  HPE_HEADER_OVERFLOW: 'long_headers',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'long_chunk_extensions',
  ERR_HTTP_REQUEST_TIMEOUT: 'late',
};

function messageFor(code: string | undefined): string {
  const { status, message } = wireRejections[reasons[code ?? ''] ?? 'not_http'];
  const body = JSON.stringify(bodyOf(message));
  const headers = { ...headersOf(), 'content-length': String(Buffer.byteLength(body)), connection: 'close' };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...head, '', body].join('\r\n');
}

const bodyOf = (message: string): ErrorBody => ({ error: { message } });

const headersOf = (): Readonly<Record<string, string>> => ({
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-request-id': randomUUID(),
});
