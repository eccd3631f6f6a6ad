import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import type { HttpRequest } from '../../model/http.ts';
import { buildRequest } from '../request/request.ts';
import type { Source } from '../source.ts';
import { sourceOf } from '../source-fixture.ts';
import { authRoot, createSigner } from './request-signer.ts';
import type { Token, TokenSource } from './token.ts';

const { signal } = new AbortController();
let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());

const request: HttpRequest = {
  method: 'POST',
  url: new URL('https://api.test/v1/a%20b?x=1&y=%C3%BC'),
  headers: { cookie: 'a=1' },
  body: '{"q":1}',
  timeoutMs: 1000,
  responseBytesMax: 1000,
  allowedHosts: [],
};

function source(auth: Readonly<Record<string, unknown>>, overrides: Partial<Source> = {}): Source {
  return sourceOf({ api: { origin: 'https://api.test' }, evaluator, resource: {}, auth }, overrides);
}

describe('an hmac signature', () => {
  const hmac = {
    kind: 'hmac',
    algorithm: 'sha1',
    secret: '{{ secrets.key }}',
    stringToSign: '{{ method }} {{ path }} {{ query }} {{ body }} {{ timestamp }} {{ nonce }}',
    headers: { 'X-Time': '{{ $fromMillis(timestamp * 1000) }}', 'X-Sign': '{{ nonce }}/{{ signature }}' },
  };

  test('is over the request as it is sent, new in each attempt, and masked', async () => {
    const masked: string[] = [];
    const overrides = { secrets: { key: 'key-123456' }, mask: (secret: string) => void masked.push(secret) };
    const signer = createSigner(source(hmac, overrides), signal);
    const attempts = [await signer.sign(request), await signer.sign(request)];
    const nonces = attempts.map(({ headers }) => {
      const [nonce = '', signature = ''] = (headers['x-sign'] ?? '').split('/');
      const text = `POST /v1/a%20b x=1&y=%C3%BC {"q":1} 1767225600 ${nonce}`;
      expect(signature).toBe(createHmac('sha1', 'key-123456').update(text).digest('hex'));
      expect(headers['x-time']).toBe('2026-01-01T00:00:00.000Z');
      expect(masked).toEqual(expect.arrayContaining(['key-123456', signature]));
      return nonce;
    });
    expect(new Set(nonces).size).toBe(2);
  });

  test('of a text without value is refused', async () => {
    const signer = createSigner(
      source({ ...hmac, stringToSign: 'a{{ params.no }}' }, { secrets: { key: 'k' } }),
      signal,
    );
    await expect(signer.sign(request)).rejects.toMatchObject({ code: 'spec_invalid' });
  });
});

describe('a token', () => {
  const oauth = {
    kind: 'oauth2_client_credentials',
    tokenUrl: 'https://login.test/token',
    clientId: 'x',
    clientSecret: 'y',
  };
  const token = (accessToken: string): Token => ({
    accessToken,
    expiresAtMs: null,
    obtainedAtMs: 0,
    refreshToken: null,
    metadata: { site: 'eu' },
  });

  /** Tokens of which each is used once, and what was refused. */
  function numbered() {
    let given = 0;
    const rejected: string[] = [];
    const tokens: TokenSource = {
      current: async () => token(`t${++given}`),
      refresh: async (_signal, refused) => {
        rejected.push(refused.accessToken);
        return token('unused');
      },
    };
    return { tokens, rejected };
  }

  test.each([
    [{}, 'authorization', 'Bearer t1'],
    [{ in: 'header', name: 'X-Token', prefix: '' }, 'x-token', 't1'],
    [{ in: 'cookie', name: 'sid', prefix: '' }, 'cookie', 'a=1; sid=t1'],
  ])('goes where %j puts it', async (put, name, value) => {
    const signed = await createSigner(source({ ...oauth, put }, numbered()), signal).sign(request);
    expect(signed.headers[name]).toBe(value);
  });

  test('in the query is in no address but the one that is sent', async () => {
    const put = { in: 'query', name: 'access', prefix: '' };
    const signed = await createSigner(source({ ...oauth, put }, numbered()), signal).sign(request);
    expect(signed.url.searchParams.get('access')).toBe('t1');
    expect(request.url.href).not.toContain('t1');
  });

  test('is read for each attempt, and a refresh names the one that was refused', async () => {
    const { tokens, rejected } = numbered();
    const signer = createSigner(source(oauth, { tokens }), signal);
    await signer.sign(request);
    await signer.refresh();
    expect((await signer.sign(request)).headers['authorization']).toBe('Bearer t2');
    expect(rejected).toEqual(['t1']);
  });

  test('with a line break is refused', async () => {
    const tokens = { ...numbered().tokens, current: async () => token('t\r\nx-admin: 1') };
    await expect(createSigner(source(oauth, { tokens }), signal).sign(request)).rejects.toMatchObject({
      code: 'spec_invalid',
    });
  });

  test('gives requests its metadata as auth', async () => {
    const auth = { ...oauth, tokenResponse: { metadata: { site: 'site' } } };
    const from = sourceOf(
      { api: { origin: '' }, evaluator, resource: {}, auth, http: { baseUrl: 'https://{{ auth.site }}.api.test' } },
      numbered(),
    );
    const position = { index: 1, number: 1, offset: 0, cursor: null, url: null };
    const page = { position, window: { from: null, to: null }, watermark: null };
    const { url } = await buildRequest(from, { ...page, auth: await authRoot(from, signal) });
    expect(url).toBe('https://eu.api.test/items');
    expect(await authRoot(source(oauth, numbered()), signal)).toEqual({});
  });
});
