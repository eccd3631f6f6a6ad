import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of one connection without a response. Clients that pipeline have a few. */
const pipelinedMax = 100;

/**
 * Node begins all requests of a connection as they arrive, some thousand in a packet. The returned function says whether to
 * serve one; it ends a connection with too many.
 */
export function limitPipelined(): (incoming: IncomingMessage, outgoing: ServerResponse) => boolean {
  const counts = new WeakMap<Socket, number>();
  const add = (socket: Socket, change: number): number => {
    const count = (counts.get(socket) ?? 0) + change;
    counts.set(socket, count);
    return count;
  };
  return ({ socket }, outgoing) => {
    if (add(socket, 1) > pipelinedMax) socket.destroy();
    outgoing.once('close', () => add(socket, -1));
    return !socket.destroyed;
  };
}
