import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/**
 * TLS takes the handle out of a Node socket and reads past every listener; behind this wrapper the bytes can still be counted.
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
  // The only socket methods that the driver needs beyond a stream.
  return Object.assign(stream, {
    setNoDelay: (isOn: boolean) => void socket.setNoDelay(isOn),
    setKeepAlive: (isOn: boolean, ms: number) => void socket.setKeepAlive(isOn, ms),
  }) as unknown as Socket;
}
