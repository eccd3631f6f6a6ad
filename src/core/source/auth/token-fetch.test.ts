import { genericTokenEndpointRequest, None } from 'oauth4webapi';
import { describe, expect, test } from 'vitest';
import { parseAllowList } from '../../http/addresses.ts';
import { createEgressGuard } from '../../http/egress.ts';
import type { LoggedCall } from '../../http/logged-call.ts';
import type { ApiReply } from '../source-fixture.ts';
import { startApi } from '../source-fixture.ts';
import { createTokenClient, sendTokenRequest, tokenTransport } from './token-client.ts';
import { responseOf, serverAt, throughClient } from './token-fetch.ts';

/** Asks a server that gives this response, at its own address unless another one is given. */
async function ask(
  reply: ApiReply,
  { url, allowed = true }: { readonly url?: string; readonly allowed?: boolean } = {},
) {
  await using api = await startApi(() => reply);
  const calls: LoggedCall[] = [];
  await using client = createTokenClient({
    egress: createEgressGuard({
      allow: parseAllowList(allowed ? new URL(api.origin).host : ''),
      deny: [],
      allowHttp: false,
    }),
    logCall: (call) => void calls.push(call),
    secrets: [],
    sleep: async () => {},
  });
  const request = async () => {
    const server = await serverAt(new URL(url ?? `${api.origin}/token?a=b`), client);
    const parties = [server, { client_id: 'client-1' }, None()] as const;
    return await responseOf(await genericTokenEndpointRequest(...parties, 'any', { a: 'ü b' }, throughClient(client)));
  };
  const outcome = await request().then(
    (response) => ({ response, error: null }),
    (error: unknown) => ({ response: null, error }),
  );
  return { ...outcome, calls, requests: api.requests };
}

describe('a request of the library', () => {
  test('is a form from us, with no word of the library', async () => {
    const { requests, calls } = await ask({ body: {} });
    expect(requests).toHaveLength(1);
    const [request] = requests;
    expect(request?.url.search).toBe('?a=b');
    expect(request?.body).toBe('a=%C3%BC+b&grant_type=any&client_id=client-1');
    expect(request?.headers).toMatchObject({
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      'user-agent': 'connector-sync',
    });
    expect(calls).toMatchObject([{ method: 'POST', statusCode: 200, reqBodyRedacted: '[redacted]' }]);
  });

  test.each<[string, ApiReply, unknown]>([
    ['of another content type', { headers: { 'content-type': 'text/html' }, body: '{"a":1}' }, { a: 1 }],
    ['of another status', { status: 201, body: { a: 1 } }, { a: 1 }],
    ['that no Response can hold', { status: 205, body: { a: 1 } }, { a: 1 }],
    ['without a body', { status: 204, body: '' }, null],
  ])('takes a response %s', async (_name, reply, response) => {
    expect(await ask(reply)).toMatchObject({ response, error: null });
  });

  test('fails with what the guarded client says, after its attempts', async () => {
    const { error, calls } = await ask({ status: 503 });
    expect(error).toMatchObject({ code: 'source_unavailable' });
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  });

  test.each([
    ['plain http off the allow list', { allowed: false }],
    ['another scheme', { url: 'ftp://login.acme.test/token' }],
    ['a URL with a password', { url: 'https://user:pass@login.acme.test/token' }],
  ])('does not go to %s: the guard refuses, and the log says so', async (_name, place) => {
    const { error, calls, requests } = await ask({ body: {} }, place);
    expect(error).toMatchObject({ code: 'egress_blocked' });
    expect(calls).toMatchObject([{ errorCode: 'egress_blocked', statusCode: null }]);
    expect(requests).toEqual([]);
  });
});

describe('a client that is disposed of', () => {
  test('lets the request in progress end: the response may contain the only copy of a refresh token', async () => {
    const asked = Promise.withResolvers<void>();
    const responding = Promise.withResolvers<void>();
    await using api = await startApi(async () => {
      asked.resolve();
      await responding.promise;
      return { body: { refresh_token: 'new' } };
    });
    const egress = createEgressGuard({
      allow: parseAllowList(new URL(api.origin).host),
      deny: [],
      allowHttp: false,
    });
    const client = createTokenClient({ egress, logCall: () => undefined, secrets: [], sleep: async () => {} });
    const request = { ...tokenTransport, method: 'POST', url: new URL(`${api.origin}/token`), headers: {} } as const;
    const sent = sendTokenRequest(client, request);
    await asked.promise;
    await client[Symbol.asyncDispose]();
    responding.resolve();
    expect(Buffer.from((await sent).body).toString()).toBe('{"refresh_token":"new"}');
    await expect(sendTokenRequest(client, request)).rejects.toThrow('could not be reached');
  });
});
