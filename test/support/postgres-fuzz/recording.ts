import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { framesOf, messageOf } from './mutations.ts';

/** What a real server sent, response by response. */
export type Recording = readonly Buffer[];

/**
 * Records what the server at `port` sends while `work` talks to it by way of the given port, one entry for each time that
 * it was ready for the next statement. The login is that of a server that asks for no password.
 */
export async function record(port: number, work: (port: number) => Promise<void>): Promise<Recording> {
  const chunks: Buffer[] = [];
  const proxy = createServer((client) => {
    const server = connect(port, '127.0.0.1');
    server.on('data', (chunk) => chunks.push(chunk));
    client.pipe(server).pipe(client);
    for (const socket of [client, server]) socket.on('error', () => undefined);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  try {
    await work(typeof address === 'object' && address ? address.port : 0);
  } finally {
    proxy.close();
  }
  const frames = framesOf(Buffer.concat(chunks));
  const loggedIn = frames.findIndex((frame) => frame.equals(messageOf('R', Buffer.alloc(4))));
  const responses: Buffer[][] = [[]];
  for (const frame of frames.slice(loggedIn)) {
    responses.at(-1)?.push(frame);
    if (frame[0] === 'Z'.charCodeAt(0)) responses.push([]);
  }
  return responses.map((response) => Buffer.concat(response)).filter(({ length }) => length > 0);
}
