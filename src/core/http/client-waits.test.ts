import { describe, expect, it, vi } from 'vitest';
import { openClient, serveStatuses } from '../../../test/support/upstream/guarded-client.ts';
import { ThrottledError } from '../model/throttled.ts';
import type { HttpClientOptions } from './client.ts';

describe('a wait that the server requests', () => {
  const now = () => Date.UTC(2026, 0, 1, 12, 0, 0);

  it.each([
    ['seconds', '7', 7_000],
    ['a date', 'Thu, 01 Jan 2026 12:00:09 GMT', 9_000],
  ])('in %s is slept when it is short', async (_form, header, ms) => {
    await using server = await serveStatuses([429, 200], { 'retry-after': header });
    await using client = openClient({ allow: `127.0.0.1:${server.port}`, now });

    await client.send({ url: server.origin });
    expect(client.sleeps).toEqual([ms]);
  });

  it('of more than 10 s is handed back instead of slept, also after the last attempt', async () => {
    await using server = await serveStatuses([503], { 'retry-after': 'Thu, 01 Jan 2026 12:01:00 GMT' });
    const retry = { maxAttempts: 1, baseMs: 1, maxMs: 1, maxWaitSeconds: 3_600 };
    await using client = openClient({ allow: `127.0.0.1:${server.port}`, now, retry });

    const error = await client.send({ url: server.origin }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ThrottledError);
    expect(error).toMatchObject({ waitMs: 60_000 });
    expect(client.sleeps).toEqual([]);
  });

  it('of more than maxWaitSeconds fails the run at once', async () => {
    await using server = await serveStatuses([429], { 'retry-after': '3601' });
    await using client = openClient({ allow: `127.0.0.1:${server.port}` });

    await expect(client.send({ url: server.origin })).rejects.toMatchObject({
      code: 'source_rejected',
      message: expect.stringContaining('asks to wait 3601 s, more than http.retry.maxWaitSeconds (3600)'),
    });
  });
});

describe('the token bucket', () => {
  it('is asked before every attempt, and its wait is slept', async () => {
    await using server = await serveStatuses([500, 200]);
    const takeToken = vi.fn<() => Promise<number>>(async () => 40);
    await using client = openClient({ allow: `127.0.0.1:${server.port}`, takeToken, random: () => 0 });

    await client.send({ url: server.origin });
    expect(takeToken).toHaveBeenCalledTimes(2);
    expect(client.sleeps).toEqual([40, 0, 40]);
  });

  it('that wants more than 10 s ends the request unsent', async () => {
    await using server = await serveStatuses([200]);
    await using client = openClient({ allow: `127.0.0.1:${server.port}`, takeToken: async () => 10_001 });

    await expect(client.send({ url: server.origin })).rejects.toMatchObject({ name: 'ThrottledError', waitMs: 10_001 });
    expect([server.connections(), client.calls.length]).toEqual([0, 0]);
  });

  it('is notified of every response, including those that are retried', async () => {
    await using server = await serveStatuses([500, 200]);
    const noteResponse = vi.fn<NonNullable<HttpClientOptions['noteResponse']>>(async () => {});
    await using client = openClient({ allow: `127.0.0.1:${server.port}`, noteResponse, random: () => 0 });

    await client.send({ url: server.origin });
    expect(noteResponse.mock.calls.map(([, { status }]) => status)).toEqual([500, 200]);
  });

  it('loses no token to a blocked request', async () => {
    const takeToken = vi.fn<() => Promise<number>>(async () => 0);
    await using client = openClient({ takeToken });

    await expect(client.send({ url: 'http://127.0.0.1:9/' })).rejects.toMatchObject({ code: 'egress_blocked' });
    expect(takeToken).not.toHaveBeenCalled();
    expect(client.calls).toMatchObject([{ attempt: 1, statusCode: null, errorCode: 'egress_blocked' }]);
  });
});
