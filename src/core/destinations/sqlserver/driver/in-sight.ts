import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/**
 * The socket for TLS from its first byte on. TLS takes the handle out of a socket of Node's and reads past everybody who
 * listens to it; behind this one its bytes can still be counted.
 */
export function inSight(socket: Socket): Socket {
  const stream = new Duplex({
    read: () => void socket.resume(),
    write: (chunk: Buffer, _encoding, done) => void socket.write(chunk, done),
    final: (done) => void socket.end(done),
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  socket.on('data', (chunk: Buffer) => {
    if (!stream.push(chunk)) socket.pause();
  });
  socket.on('end', () => void stream.push(null));
  socket.on('error', (error) => void stream.destroy(error));
  socket.on('close', () => void stream.destroy());
  // All of a socket that the driver asks for beyond a stream.
  return Object.assign(stream, {
    setNoDelay: (isOn: boolean) => void socket.setNoDelay(isOn),
    setKeepAlive: (isOn: boolean, ms: number) => void socket.setKeepAlive(isOn, ms),
  }) as unknown as Socket;
}
