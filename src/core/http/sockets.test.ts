import { describe, expect, it } from 'vitest';
import { openClient, serveHttp } from '../../../test/support/upstream/guarded-client.ts';
import { parseAllowList } from './addresses.ts';
import { createEgressGuard } from './egress.ts';
import { createSocketCache } from './sockets.ts';

const cacheFor = (port: number) =>
  createSocketCache(createEgressGuard({ allow: parseAllowList(`127.0.0.1:${port}`), deny: [], allowHttp: false }));

describe('the sockets of a connection', () => {
  it('stay open from its second run on', async () => {
    await using server = await serveHttp((_, response) => response.end('{}'));
    const cache = cacheFor(server.port);
    const opened: number[] = [];
    for (let run = 1; run <= 4; run += 1) {
      await using client = openClient({ allow: `127.0.0.1:${server.port}`, sockets: cache.open('con_1') });
      await client.send({ url: server.origin });
      opened.push(server.connections());
    }
    expect(opened).toEqual([1, 2, 2, 2]);
  });

  it('are of no other connection', async () => {
    await using server = await serveHttp((_, response) => response.end('{}'));
    const cache = cacheFor(server.port);
    for (const connectionId of ['con_1', 'con_1', 'con_2', 'con_3']) {
      await using client = openClient({ allow: `127.0.0.1:${server.port}`, sockets: cache.open(connectionId) });
      await client.send({ url: server.origin });
    }
    expect(server.connections()).toBe(4);
  });

  it('are of one run at a time', async () => {
    await using server = await serveHttp((_, response) => response.end('{}'));
    const cache = cacheFor(server.port);
    const read = async () => {
      await using client = openClient({ allow: `127.0.0.1:${server.port}`, sockets: cache.open('con_1') });
      await client.send({ url: server.origin });
    };
    await read();
    await read();
    await Promise.all([read(), read()]);
    expect(server.connections()).toBe(3);
    await read();
    expect(server.connections()).toBe(3);
  });

  it('are closed where a run ends during a request', async () => {
    const gone = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    await using server = await serveHttp((request, response) => {
      if (request.url !== '/hangs') return void response.end('{}');
      request.socket.once('close', () => gone.resolve());
      asked.resolve();
    });
    const cache = cacheFor(server.port);
    const read = async (path: string) => {
      await using client = openClient({ allow: `127.0.0.1:${server.port}`, sockets: cache.open('con_1') });
      const sent = client.send({ url: `${server.origin}${path}` });
      if (path === '/hangs') await asked.promise;
      else await sent;
      sent.catch(() => undefined);
    };
    await read('/');
    await read('/hangs');
    await gone.promise;
    await read('/');
    expect(server.connections()).toBeGreaterThanOrEqual(3);
  });
});
