import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';

/** BackendKeyData: its length, and then the process that executes, which a pooler does not know ahead. */
const keyData = Buffer.from([0x4b, 0, 0, 0, 12]);

/** A proxy that announces another process than the one that executes, as poolers do. */
export async function startRenamingProxy(port: number): Promise<{ readonly port: number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  const listener = createServer((client) => {
    const server = createConnection(port, '127.0.0.1');
    for (const socket of [client, server]) sockets.add(socket.on('error', () => socket.destroy()));
    client.pipe(server);
    server.on('data', (chunk) => {
      const at = chunk.indexOf(keyData);
      if (at !== -1) chunk.writeInt32BE(1, at + keyData.length);
      client.write(chunk);
    });
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
}
