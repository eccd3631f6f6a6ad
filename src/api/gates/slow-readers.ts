import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Ends connections whose client takes nothing of a response between two looks, `everyMs` apart: the process holds what is not
 * taken. Node's own limits are for requests, and its timeout for silence, which any byte of the client ends.
 */
export function cutSlowReaders(server: Server, everyMs: number): void {
  /** What had left the process at the last look; `null` if nothing was waiting. */
  const sockets = new Map<Socket, number | null>();
  server.on('connection', (socket) => {
    sockets.set(socket, null);
    socket.once('close', () => sockets.delete(socket));
  });
  const looks = setInterval(() => {
    for (const [socket, before] of sockets) {
      const left = socket.writableLength === 0 ? null : socket.bytesWritten - socket.writableLength;
      // A reset, because the kernel would keep what it holds for the client.
      if (left !== null && left === before) socket.resetAndDestroy();
      else sockets.set(socket, left);
    }
  }, everyMs).unref();
  server.once('close', () => clearInterval(looks));
}
