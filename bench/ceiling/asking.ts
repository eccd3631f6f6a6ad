/** Asking for pages with a bare socket: what their latency alone costs, for a reader that does nothing with them. */
import { connect } from 'node:net';

/** Asks for every page, each as soon as the response before it has said which it is; how many there were. */
export async function askForPages(url: string): Promise<number> {
  const { hostname, port, host } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const ask = (cursor: string) => socket.write(`GET /cursor?limit=100${cursor} HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
  let reply = Buffer.alloc(0);
  let pages = 0;
  socket.once('error', reject);
  socket.on('data', (chunk) => {
    reply = reply.length === 0 ? chunk : Buffer.concat([reply, chunk]);
    if (!isWhole(reply)) return;
    pages += 1;
    const next = /"next_cursor":"(\d+)"/.exec(reply.toString('latin1', reply.length - 100))?.[1];
    reply = Buffer.alloc(0);
    if (next === undefined) resolve(pages);
    else ask(`&cursor=${next}`);
  });
  ask('');
  try {
    return await promise;
  } finally {
    socket.destroy();
  }
}

function isWhole(reply: Buffer): boolean {
  const head = reply.indexOf('\r\n\r\n');
  const length = /content-length: (\d+)/i.exec(reply.toString('latin1', 0, head))?.[1];
  return head !== -1 && reply.length >= head + 4 + Number(length);
}
