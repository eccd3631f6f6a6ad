import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';

let api: TestApi;
let org: TestOrg;
beforeAll(async () => {
  api = await startApi({ requestsPerSecond: 2 });
  org = await api.newOrg();
});
afterAll(() => api[Symbol.asyncDispose]());

const times = <Value>(count: number, act: () => Promise<Value>) => Promise.all(Array.from({ length: count }, act));

/** All responses until one of them is 429; it asks faster than any limit here, however slow the machine is. */
async function untilTooOften<Reply extends { readonly status: number }>(ask: () => Promise<Reply>) {
  const replies: Reply[] = [];
  while (replies.every(({ status }) => status !== 429)) replies.push(...(await times(100, ask)));
  return replies;
}

describe('a deployment with a rate limit', () => {
  it('responds with 429 and Retry-After to a key that asks too often, and others as ever', async () => {
    const other = await api.newOrg();
    const replies = await untilTooOften(() => org.call('GET', '/connections'));
    const [refused] = replies.filter(({ status }) => status === 429);
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 429]));
    expect(refused?.body).toEqual({ error: { code: 'rate_limited', message: expect.stringContaining('Retry-After') } });
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect((await other.call('GET', '/connections')).status).toBe(200);
  });

  it('responds with 429 to an address whose credentials are refused too often, while valid ones are let through', async () => {
    const server = createServer((incoming, outgoing) => {
      void getRequestListener(api.app.fetch)(incoming, outgoing);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1/connections`;
    const ask = async (key: string) => {
      const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
      await response.arrayBuffer();
      return response;
    };
    const fresh = await api.newOrg();
    const refused = await untilTooOften(() => ask('ck_wrong'));
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([401, 429]));
    expect(refused.findLast(({ status }) => status === 429)?.headers.get('retry-after')).toMatch(/^\d+$/);
    expect((await ask(fresh.apiKey)).status).toBe(200);
    server.closeAllConnections();
    server.close();
  });
});

describe('a deployment without a rate limit', () => {
  it('responds to any number of requests', async () => {
    await using unlimited = await startApi();
    const { call } = await unlimited.newOrg();
    const replies = await times(600, () => call('GET', '/workspaces'));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
  });
});
