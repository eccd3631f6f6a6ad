import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Hono } from 'hono';
import { expect, it } from 'vitest';
import type { ApiEnv } from '../serve-route.ts';
import { listen } from '../server.ts';

/** A server whose responses wait until they are released, and the requests that it has begun. */
async function startServer() {
  const [reached, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const begun: string[] = [];
  const app = new Hono<ApiEnv>();
  app.get('/:id', async (c) => {
    begun.push(c.req.param('id'));
    if (begun.length === 100) reached.resolve();
    await release.promise;
    return c.text(`<${c.req.param('id')}>`);
  });
  const server = await listen(app, { host: '127.0.0.1', port: 0 });
  return {
    begun,
    reached: reached.promise,
    release: () => release.resolve(),
    /** Sends so many requests in one piece; all that comes until the connection ends. */
    send(count: number): Promise<string> {
      const socket = connect(server.port, '127.0.0.1');
      const last = 'Connection: close\r\n';
      const request = (id: number) => `GET /${id} HTTP/1.1\r\nHost: x\r\n${id === count ? last : ''}\r\n`;
      socket.write(Array.from({ length: count }, (_, index) => request(index + 1)).join(''));
      return text(socket).catch((error: NodeJS.ErrnoException) => error.code ?? '');
    },
    async [Symbol.asyncDispose]() {
      release.resolve();
      await server.stop();
    },
  };
}

const ids = Array.from({ length: 100 }, (_, index) => String(index + 1));

it('100 requests of a connection that wait for nothing are all served, in order', async () => {
  await using server = await startServer();
  const received = server.send(100);
  await server.reached;
  server.release();
  expect([...(await received).matchAll(/<(\d+)>/g)].map(([, id]) => id)).toEqual(ids);
});

it('more of them end the connection, and no other is begun, while another connection is served', async () => {
  await using server = await startServer();
  expect(await server.send(1500)).not.toContain('HTTP/1.1');
  expect(server.begun).toEqual(ids);
  const other = server.send(1);
  server.release();
  expect(await other).toContain('<1>');
});
