import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ApiEnv } from '../serve-route.ts';
import { type ApiServer, listen } from '../server.ts';

/** More than the kernel holds for a connection. */
const tooLong = 'x'.repeat(64 * 1024 * 1024);
/** More than a connection holds before it is asked to wait. */
const long = 'x'.repeat(1024 * 1024);

let server: ApiServer;
/** Whether all of an endless response was sent when its connection closed. */
let cut: PromiseWithResolvers<boolean>;
let rest: PromiseWithResolvers<void>;

beforeAll(async () => {
  const app = new Hono<ApiEnv>();
  app.use('/endless/*', async (c, next) => {
    const { env }: Pick<Context, 'env'> = c;
    const { outgoing }: HttpBindings = env;
    outgoing.once('close', () => cut.resolve(outgoing.writableFinished));
    await next();
  });
  app.get('/endless/text', (c) => c.text(tooLong));
  app.get('/endless/stream', (c) =>
    c.body(new ReadableStream({ pull: (controller) => controller.enqueue(Buffer.from(long)) })),
  );
  app.get('/pausing', (c) =>
    c.body(
      new ReadableStream({
        async start(controller) {
          controller.enqueue(Buffer.from('begun'));
          await rest.promise;
          controller.enqueue(Buffer.from('ended'));
          controller.close();
        },
      }),
    ),
  );
  server = await listen(app, { host: '127.0.0.1', port: 0, readTimeoutMs: 50 });
});
afterAll(() => server.stop());

/** A connection that has sent a request and does not read. */
function ask(path: string) {
  const socket = connect(server.port, '127.0.0.1').pause();
  socket.on('error', () => undefined).write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  return socket;
}

it.each(['text', 'stream'])(
  'a response that nobody reads ends with its connection, also when bytes come meanwhile: %s',
  async (kind) => {
    cut = Promise.withResolvers();
    const socket = ask(`/endless/${kind}`);
    const bytes = setInterval(() => socket.write('\r\n'), 10);
    expect(await cut.promise).toBe(false);
    clearInterval(bytes);
    socket.destroy();
  },
);

it('a response that the server itself has not written goes on, however long that takes', async () => {
  [cut, rest] = [Promise.withResolvers(), Promise.withResolvers()];
  const read = text(ask('/pausing'));
  // Two looks have passed when another connection is cut.
  const other = ask('/endless/text');
  expect(await cut.promise).toBe(false);
  other.destroy();
  rest.resolve();
  expect(await read).toMatch(/begun[^]*ended/);
});
