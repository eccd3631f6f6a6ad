import { randomUUID } from 'node:crypto';
import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ErrorBody } from '../../core/resources/error.ts';

/** The response to a request whose line or Host header makes no URL; the app never sees it. */
export const refuseAddress = (): Response =>
  new Response(JSON.stringify(bodyOf('The request line or the Host header is not valid.')), {
    status: 400,
    headers: headersOf(),
  });

/** Gives the refusals of Node's own parser the form of every other error; without this they have no body. */
export function respondToParserErrors(server: Server): void {
  const responses = new WeakMap<Duplex, ServerResponse>();
  server.on('request', ({ socket }, outgoing) => responses.set(socket, outgoing));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const response = responses.get(socket);
    // Behind the head of a response, another one would be read as its body.
    const isResponding = response?.headersSent === true && !response.writableFinished;
    if (!socket.writable || error.code === 'ECONNRESET' || isResponding) socket.destroy();
    else socket.end(messageFor(error.code), () => socket.destroy());
  });
}

/** Rejections by Node's code; any other one is a 400. */
const rejections: Readonly<Record<string, readonly [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The headers are too long.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The chunk extensions are too long.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
};

function messageFor(code: string | undefined): string {
  const [status, message] = rejections[code ?? ''] ?? [400, 'The request is not valid HTTP/1.1.'];
  const body = JSON.stringify(bodyOf(message));
  const headers = { ...headersOf(), 'content-length': String(Buffer.byteLength(body)), connection: 'close' };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...head, '', body].join('\r\n');
}

/** The body of an error without a code: the request did not reach the service. */
const bodyOf = (message: string): ErrorBody => ({ error: { message } });

const headersOf = (): Readonly<Record<string, string>> => ({
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-request-id': randomUUID(),
});
