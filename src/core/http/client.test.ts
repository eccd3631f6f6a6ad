import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { openClient, serveHttp, serveRaw, serveStatuses } from '../../../test/support/upstream/guarded-client.ts';
import { AppError } from '../errors.ts';
import { type HttpResponse } from '../model/http.ts';

describe('an attempt that fails', () => {
  it.each([408, 425, 429, 500, 502, 503, 504])('with %i is made again', async (status) => {
    await using server = await serveStatuses([status, status, 200]);
    await using client = openClient({ allow: `127.0.0.1:${server.port}`, random: () => 0.5 });

    await expect(client.send({ url: server.origin })).resolves.toMatchObject({ status: 200 });
    expect(client.sleeps).toEqual([50, 100]);
    expect(client.calls.map(({ attempt, statusCode }) => [attempt, statusCode])).toEqual([
      [1, status],
      [2, status],
      [3, 200],
    ]);
  });

  it('by a reset connection is made again', async () => {
    let turn = 0;
    await using server = await serveRaw((socket) => {
      socket.once('data', () => {
        turn += 1;
        if (turn === 1) socket.resetAndDestroy();
        else socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
      });
    });
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    await expect(client.send({ url: server.origin })).resolves.toMatchObject({ status: 200 });
    expect(client.calls).toMatchObject([
      { attempt: 1, statusCode: null, errorCode: 'network', respHeaders: {}, respBodyTruncated: null },
      { attempt: 2, statusCode: 200, errorCode: null },
    ]);
  });

  it('by a body cut short is made again', async () => {
    await using server = await serveRaw((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\nok'));
    });
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    await expect(client.send({ url: server.origin })).rejects.toThrow('could not be reached in 3 attempts');
  });

  it('that never gets a response says why', async () => {
    const server = await serveRaw((socket) => socket.destroy());
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });
    const sent = () => client.send({ url: `${server.origin}/items` });
    const failed = 'GET /items could not be reached in 3 attempts:';

    await expect(sent()).rejects.toThrow(`${failed} the connection ended before a response. The source is failing`);
    await server[Symbol.asyncDispose]();
    await expect(sent()).rejects.toThrow(`${failed} it refused the connection. The source is failing`);
  });

  it('every time ends as source_unavailable, naming status, method and path', async () => {
    await using server = await serveStatuses([503]);
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    const sending = client.send({ method: 'POST', url: `${server.origin}/items?token=v`, body: '{}' });
    await expect(sending).rejects.toMatchObject({
      code: 'source_unavailable',
      message:
        'POST /items responded with 503 in 3 attempts. The source is failing or unreachable; start the run again later.',
    });
    expect(client.calls).toHaveLength(3);
  });

  it.each([
    [400, 'source_rejected'],
    [401, 'auth_failed'],
    [403, 'source_rejected'],
    [404, 'source_rejected'],
    [410, 'source_rejected'],
  ])('with %i fails at once as %s', async (status, code) => {
    await using server = await serveStatuses([status]);
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    const sending = client.send({ url: `${server.origin}/items` });
    await expect(sending).rejects.toMatchObject({
      code,
      message: expect.stringContaining(`GET /items responded with ${status}: `),
    });
    expect(client.calls).toHaveLength(1);
  });

  it('does not count 304 as a failure: the caller gets the response', async () => {
    await using server = await serveStatuses([304]);
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });
    await expect(client.send({ url: server.origin })).resolves.toMatchObject({ status: 304 });
  });

  it('waits anywhere between nothing and the doubled base', async () => {
    await using server = await serveStatuses([500]);
    const retry = { maxAttempts: 12, baseMs: 100, maxMs: 1_000, maxWaitSeconds: 3_600 };
    await using client = openClient({ allow: `127.0.0.1:${server.port}`, retry });

    await client.send({ url: server.origin }).catch(() => undefined);
    const bounds = Array.from({ length: 11 }, (_, index) => Math.min(1_000, 100 * 2 ** index));
    expect(client.sleeps).toHaveLength(11);
    expect(client.sleeps.filter((ms, index) => ms < 0 || ms > (bounds[index] ?? 0))).toEqual([]);
  });
});

describe('a request that goes on failing', () => {
  const retry = { maxAttempts: 20, baseMs: 600_000, maxMs: 3_600_000, maxWaitSeconds: 3_600 };

  it('holds its worker for at most 10 s between attempts, and each of them counts', async () => {
    await using server = await serveStatuses([503]);
    await using client = openClient({ allow: `127.0.0.1:${server.port}`, retry, random: () => 0.999 });

    await expect(client.send({ url: server.origin })).rejects.toThrow('in 20 attempts');
    expect(client.sleeps).toEqual(Array.from({ length: 19 }, () => 9_990));
  });

  it('is given up after 150 s, whatever attempts are left', async () => {
    await using server = await serveStatuses([503]);
    let clock = 0;
    const now = () => clock;
    const sleep = async () => {
      clock += 40_000;
    };
    await using client = openClient({ allow: `127.0.0.1:${server.port}`, retry, now, sleep });

    await expect(client.send({ url: server.origin })).rejects.toMatchObject({
      code: 'source_unavailable',
      message: expect.stringContaining('responded with 503 in 5 attempts'),
    });
  });
});

describe('the caller', () => {
  it('is notified of each response before the client logs and classifies it, and the client waits', async () => {
    await using server = await serveHttp(({ url }, response) => {
      if (url === '/') response.writeHead(302, { location: '/moved' }).end();
      else response.writeHead(url === '/moved' ? 200 : 404).end('{"ok":true}');
    });
    const order: string[] = [];
    await using client = openClient({
      allow: `127.0.0.1:${server.port}`,
      logCall: ({ statusCode }) => void order.push(`logged ${statusCode}`),
      classify: async ({ status }) => {
        order.push(`classified ${status}`);
        return { action: 'accept' };
      },
    });
    const onResponse = async ({ status }: HttpResponse) => {
      await nextTurn();
      order.push(`told ${status}`);
    };
    await client.send({ url: server.origin }, undefined, { onResponse });
    expect(order).toEqual(['told 302', 'logged 302', 'told 200', 'logged 200', 'classified 200']);
  });

  it('is not notified when no response arrives', async () => {
    await using server = await serveRaw((socket) => void socket.once('data', () => socket.destroy()));
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });
    const onResponse = vi.fn<() => Promise<void>>(async () => {});
    await expect(client.send({ url: server.origin }, undefined, { onResponse })).rejects.toMatchObject({
      code: 'source_unavailable',
    });
    expect(onResponse).not.toHaveBeenCalled();
  });
});

describe('the verdict of the caller', () => {
  it('wins over the defaults', async () => {
    await using server = await serveStatuses([404]);
    await using client = openClient({
      allow: `127.0.0.1:${server.port}`,
      classify: async () => ({ action: 'accept' }),
    });
    await expect(client.send({ url: server.origin })).resolves.toMatchObject({ status: 404 });
  });

  it('may name the wait', async () => {
    await using server = await serveStatuses([403, 200], { 'retry-after': '9' });
    await using client = openClient({
      allow: `127.0.0.1:${server.port}`,
      classify: async ({ status }) =>
        status === 403 ? { action: 'rate_limited', waitMs: 1_234 } : { action: 'accept' },
    });
    await client.send({ url: server.origin });
    expect(client.sleeps).toEqual([1_234]);
  });

  it('is also used when no response arrives', async () => {
    const error = new AppError('source_rejected', 'The VPN is down.');
    const server = await serveStatuses([200]);
    await server[Symbol.asyncDispose]();
    await using client = openClient({
      allow: `127.0.0.1:${server.port}`,
      classify: async (response) =>
        response.status === null && response.failure === 'network' ? { action: 'fail', error } : { action: 'retry' },
    });
    await expect(client.send({ url: server.origin })).rejects.toBe(error);
    expect(client.calls).toHaveLength(1);
  });

  it('may name the failure', async () => {
    await using server = await serveStatuses([200]);
    const error = new AppError('source_rejected', 'The response says ok: false.');
    await using client = openClient({
      allow: `127.0.0.1:${server.port}`,
      classify: async () => ({ action: 'fail', error }),
    });
    await expect(client.send({ url: server.origin })).rejects.toBe(error);
  });
});

describe('the caller', () => {
  it('can cancel while the server is silent; the call is logged and its own reason thrown', async () => {
    const controller = new AbortController();
    const reason = new Error('the run was canceled');
    await using server = await serveHttp(() => controller.abort(reason));
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    await expect(client.send({ url: server.origin }, controller.signal)).rejects.toBe(reason);
    expect(client.calls).toMatchObject([{ attempt: 1, errorCode: 'canceled' }]);
  });

  it('can cancel before anything is sent', async () => {
    await using server = await serveStatuses([200]);
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    await expect(client.send({ url: server.origin }, AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
    expect(server.connections()).toBe(0);
  });

  it('learns of a header that HTTP does not allow', async () => {
    await using server = await serveStatuses([200]);
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    const sending = client.send({ url: server.origin, headers: { 'x-name': 'a\r\nx-more: b' } });
    await expect(sending).rejects.toMatchObject({ code: 'spec_invalid' });
    expect(client.calls).toHaveLength(1);
  });
});
