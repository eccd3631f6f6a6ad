import { promisify } from 'node:util';
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  deflate,
  deflateRaw,
  gzip,
  gzipSync,
  zstdCompress,
} from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { openClient, serveHttp, serveRaw } from '../../../test/support/upstream/guarded-client.ts';
import type { ResponseMemory } from '../model/response-memory.ts';

const page = Buffer.from(JSON.stringify({ items: Array.from({ length: 1_000 }, (_, id) => ({ id })) }));

const serveBody = (body: Uint8Array, encoding?: string) =>
  serveHttp((_request, response) => {
    if (encoding !== undefined) response.setHeader('content-encoding', encoding);
    response.end(body);
  });

describe('a response', () => {
  it.each([
    ['gzip', gzip],
    ['x-gzip', gzip],
    ['GZIP', gzip],
    ['br', brotliCompress],
    ['zstd', zstdCompress],
    ['deflate', deflate],
    ['deflate', deflateRaw],
  ] as const)('arrives decoded from %s', async (encoding, compress) => {
    await using server = await serveBody(await promisify<Buffer, Buffer>(compress)(page), encoding);
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    const response = await client.send({ url: server.origin });
    expect(Buffer.compare(response.body, page)).toBe(0);
  });

  it('of exactly the limit passes, of one byte more is refused, encoded or not', async () => {
    for (const encoding of [undefined, 'gzip']) {
      await using server = await serveBody(encoding === undefined ? page : gzipSync(page), encoding);
      await using client = openClient({ allow: `127.0.0.1:${server.port}` });

      await expect(client.send({ url: server.origin, responseBytesMax: page.length })).resolves.toMatchObject({
        status: 200,
      });
      const tooSmall = client.send({ url: server.origin, responseBytesMax: page.length - 1 });
      await expect(tooSmall).rejects.toMatchObject({ code: 'source_rejected' });
      expect(client.calls.map((call) => call.attempt)).toEqual([1, 1]);
    }
  });

  it('that unpacks to 200 MB stops at the limit', async () => {
    await using server = await serveBody(gzipSync(Buffer.alloc(200_000_000)), 'gzip');
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });
    const before = process.memoryUsage.rss();

    await expect(client.send({ url: server.origin })).rejects.toThrow('larger than 10000000 bytes');
    expect(process.memoryUsage.rss() - before).toBeLessThan(100_000_000);
  });

  it('that needs 16 MB to be decoded takes little memory, however many there are at once', async () => {
    const params = { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_QUALITY]: 5 };
    await using server = await serveBody(brotliCompressSync(Buffer.alloc(100_000_000, 'a'), { params }), 'br');
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });
    const before = process.memoryUsage.rss();
    let peak = before;
    const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 1);

    const sent = Array.from({ length: 40 }, () => client.send({ url: server.origin, responseBytesMax: 1_000_000 }));
    const results = await Promise.allSettled(sent).finally(() => clearInterval(timer));
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['rejected']));
    expect(peak - before).toBeLessThan(200_000_000);
  });

  it('without end stops at the limit', async () => {
    await using server = await serveHttp((_request, response) => {
      const pump = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      };
      response.on('drain', pump);
      pump();
    });
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    await expect(client.send({ url: server.origin })).rejects.toMatchObject({ code: 'source_rejected' });
  });

  it.each(['gzip, gzip', 'gzip,br', 'compress', '__proto__'])('encoded as "%s" is refused', async (encoding) => {
    await using server = await serveBody(gzipSync(gzipSync(page)), encoding);
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    await expect(client.send({ url: server.origin })).rejects.toThrow('not encoded in one of');
    expect(client.calls).toHaveLength(1);
  });

  it('is requested again when its compressed body is damaged', async () => {
    await using server = await serveBody(Buffer.from('no gzip'), 'gzip');
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    await expect(client.send({ url: server.origin })).rejects.toMatchObject({ code: 'source_unavailable' });
    expect(client.calls.map((call) => call.errorCode)).toEqual(['network', 'network', 'network']);
  });

  it('that drips for ever ends with its time', async () => {
    await using server = await serveHttp((_request, response) => {
      const timer = setInterval(() => response.write('x'), 10);
      response.on('close', () => clearInterval(timer));
    });
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    await expect(client.send({ url: server.origin, timeoutMs: 150 })).rejects.toThrow(
      'did not respond in time in 3 attempts',
    );
    expect(client.calls).toMatchObject(
      [1, 2, 3].map((attempt) => ({ attempt, statusCode: null, errorCode: 'timeout' })),
    );
  });

  it('with more than 16 KB of headers is refused', async () => {
    await using server = await serveRaw((socket) => {
      socket.once('data', () =>
        socket.end(`HTTP/1.1 200 OK\r\nx-long: ${'x'.repeat(20_000)}\r\ncontent-length: 0\r\n\r\n`),
      );
    });
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    await expect(client.send({ url: server.origin })).rejects.toThrow('more than 16 KB of headers');
    expect(client.calls).toHaveLength(1);
  });

  it('keeps repeated headers, joined', async () => {
    await using server = await serveHttp((_request, response) => {
      response.writeHead(200, { link: ['<a>; rel="next"', '<b>; rel="last"'], 'X-One': '1' }).end();
    });
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    const { headers } = await client.send({ url: server.origin });
    expect(headers).toMatchObject({ link: '<a>; rel="next", <b>; rel="last"', 'x-one': '1' });
  });
});

describe('a connection', () => {
  it('is kept for the pages that follow', async () => {
    await using server = await serveBody(gzipSync(page), 'gzip');
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    for (let number = 0; number < 5; number += 1) await client.send({ url: `${server.origin}/?page=${number}` });
    expect(server.connections()).toBe(1);
  });

  it('is never shared by two clients', async () => {
    await using server = await serveBody(page);
    await using one = openClient({ allow: `127.0.0.1:${server.port}` });
    await using other = openClient({ allow: `127.0.0.1:${server.port}` });

    await Promise.all([one.send({ url: server.origin }), other.send({ url: server.origin })]);
    expect(server.connections()).toBe(2);
  });
});

describe('the memory of a response', () => {
  /** What all responses hold now. */
  function countingMemory() {
    const accounts: { bytes: number }[] = [];
    const memory: ResponseMemory = {
      open() {
        const account = { bytes: 0 };
        accounts.push(account);
        return {
          hold: (bytes) => void (account.bytes = bytes),
          release: () => void (account.bytes = 0),
        };
      },
      inTurn: async (work) => await work(),
    };
    return { memory, held: () => accounts.reduce((sum, { bytes }) => sum + bytes, 0) };
  }

  it.each([undefined, 'gzip'])('is held until whoever reads it gives it back: encoded by %s', async (encoding) => {
    const body = Buffer.alloc(5_000_000, 'x');
    await using server = await serveBody(encoding === undefined ? body : gzipSync(body), encoding);
    const { memory, held } = countingMemory();
    await using client = openClient({ allow: `127.0.0.1:${server.port}`, memory });
    const response = await client.send({ url: server.origin });
    expect(held()).toBeGreaterThan(3_900_000);
    response.held?.release();
    expect(held()).toBe(0);
  });

  it('is given back for a response that is requested again, or that fails the request', async () => {
    await using server = await serveHttp((_request, response) => {
      response.statusCode = 503;
      response.end(Buffer.alloc(5_000_000, 'x'));
    });
    const { memory, held } = countingMemory();
    await using client = openClient({ allow: `127.0.0.1:${server.port}`, memory });
    await expect(client.send({ url: server.origin })).rejects.toMatchObject({ code: 'source_unavailable' });
    expect([client.calls.length, held()]).toEqual([3, 0]);
  });
});
