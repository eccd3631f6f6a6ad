import { generateKeyPairSync } from 'node:crypto';
import { jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { parseAllowList } from '../../http/addresses.ts';
import type { LoggedCall } from '../../http/client.ts';
import { createEgressGuard } from '../../http/egress.ts';
import { type ApiReply, type ApiRequest, sourceOf, startApi } from '../source-fixture.ts';
import { openTokens } from './open-tokens.ts';
import type { Token } from './token.ts';
import { createTokenClient } from './token-client.ts';
import type { StoredToken } from './token-store.ts';

const nowMs = Date.UTC(2026, 0, 1);
const { signal } = new AbortController();
let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());

const pairs = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  jwk: generateKeyPairSync('ed25519'),
};
/** Private keys are in the forms in which customers have them. */
const secrets = {
  id: 'client:1',
  secret: 'p ss/word',
  rsa: String(pairs.rsa.privateKey.export({ type: 'pkcs8', format: 'pem' })),
  pkcs1: String(pairs.rsa.privateKey.export({ type: 'pkcs1', format: 'pem' })).replaceAll('\n', '\\n'),
  ec: String(pairs.ec.privateKey.export({ type: 'sec1', format: 'pem' })),
  jwk: JSON.stringify({ ...pairs.jwk.privateKey.export({ format: 'jwk' }), kid: 'key-7' }),
};
const standard = { body: { access_token: 'at-1234567', expires_in: 60 } };
const client = {
  kind: 'oauth2_client_credentials',
  tokenUrl: '{{ params.url }}/token',
  clientId: '{{ secrets.id }}',
  clientSecret: '{{ secrets.secret }}',
};

interface Obtained {
  readonly token: Token;
  readonly requests: readonly ApiRequest[];
  readonly calls: readonly LoggedCall[];
  readonly masked: readonly string[];
  readonly origin: string;
}

/** Obtains a token from an API that gives these responses in turn, the last one for ever. */
async function obtain(
  auth: Readonly<Record<string, unknown>>,
  replies: readonly ApiReply[] = [standard],
  allowed = true,
): Promise<Obtained> {
  let asked = 0;
  await using api = await startApi(() => replies[Math.min(asked++, replies.length - 1)] ?? standard);
  const calls: LoggedCall[] = [];
  const masked: string[] = [];
  const allow = parseAllowList(allowed ? new URL(api.origin).host : '');
  await using tokenClient = createTokenClient({
    egress: createEgressGuard({ allow, deny: [], allowHttp: false }),
    logCall: (call) => void calls.push(call),
    secrets: [],
    sleep: async () => {},
  });
  const source = sourceOf(
    { api, evaluator, resource: {}, auth },
    {
      params: { url: api.origin },
      secrets,
      mask: (secret) => {
        masked.push(secret);
        tokenClient.addSecret(secret);
      },
      now: () => new Date(nowMs),
    },
  );
  let stored: StoredToken | null = null;
  const store = {
    read: async () => stored,
    lease: async () => ({
      stored,
      save: async (token: StoredToken) => {
        stored = token;
      },
      release: async () => {},
    }),
  };
  const tokens = await openTokens(source, { client: tokenClient, store, resourceKey: null });
  if (!tokens) throw new Error('The kind needs no token');
  const token = await tokens.current(signal);
  return { token, requests: api.requests, calls, masked, origin: api.origin };
}

const fieldsOf = ({ requests: [request] }: Obtained) => Object.fromEntries(new URLSearchParams(request?.body));

describe('a client proves itself', () => {
  test('by basic authentication, with both halves form-encoded', async () => {
    const obtained = await obtain({
      ...client,
      scopes: ['a', 'b'],
      params: { audience: 'x', none: '{{ params.no }}' },
    });
    const [request] = obtained.requests;
    const pair = Buffer.from('client%3A1:p+ss%2Fword').toString('base64');
    expect(request?.headers['authorization']).toBe(`Basic ${pair}`);
    expect(fieldsOf(obtained)).toEqual({ grant_type: 'client_credentials', scope: 'a b', audience: 'x' });
    expect(obtained.masked).toEqual(expect.arrayContaining(['p ss/word', 'client%3A1:p+ss%2Fword', 'at-1234567']));
  });

  test('by fields of the form', async () => {
    const obtained = await obtain({ ...client, clientAuth: 'post' });
    expect(obtained.requests[0]?.headers['authorization']).toBeUndefined();
    expect(fieldsOf(obtained)).toEqual({
      grant_type: 'client_credentials',
      client_id: 'client:1',
      client_secret: 'p ss/word',
    });
  });

  test.each([
    ['rsa', 'RS256'],
    ['ec', 'ES256'],
    ['jwk', 'EdDSA'],
  ] as const)('by an assertion signed with its %s key', async (name, algorithm) => {
    const auth = { ...client, clientAuth: 'private_key_jwt', clientSecret: `{{ secrets.${name} }}` };
    const obtained = await obtain(auth);
    const { client_assertion: assertion = '', ...fields } = fieldsOf(obtained);
    expect(fields).toEqual({
      grant_type: 'client_credentials',
      client_id: 'client:1',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    });
    const { payload, protectedHeader } = await jwtVerify(assertion, pairs[name].publicKey, {
      currentDate: new Date(nowMs),
    });
    const claims = { iss: 'client:1', sub: 'client:1', aud: `${obtained.origin}/token`, exp: nowMs / 1000 + 60 };
    expect(payload).toEqual({ ...claims, iat: nowMs / 1000, jti: expect.any(String) });
    expect(protectedHeader).toMatchObject({ alg: algorithm, ...(name === 'jwk' ? { kid: 'key-7' } : {}) });
    expect(obtained.masked).toContain(assertion);
  });

  test('with a key that is none: auth_failed, without a word of it', async () => {
    const auth = { ...client, clientAuth: 'private_key_jwt' };
    const failure = await obtain(auth).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'auth_failed', message: expect.stringContaining('not a private key') });
    expect(String(failure)).not.toContain(secrets.secret);
  });
});

describe('a grant may have a name of its own', () => {
  const params = { grant_type: 'account_credentials', account_id: '7' };
  const key = { kind: 'jwt', algorithm: 'RS256', key: '{{ secrets.rsa }}', claims: {} };

  test.each([
    ['client credentials', { ...client, params }],
    ['a JWT exchange', { ...key, exchange: { tokenUrl: '{{ params.url }}/token', params } }],
  ])('as %s', async (_name, auth) => {
    expect(fieldsOf(await obtain(auth))).toMatchObject(params);
  });
});

describe('the response of a token endpoint', () => {
  test('is read where tokenResponse says', async () => {
    const tokenResponse = {
      accessToken: 'data.value',
      expiresIn: 'data.ttl',
      expiresInUnit: 'minutes',
      metadata: { site: 'data.site' },
    };
    const reply = { body: { data: { value: 'at-7654321', ttl: '30', site: 'https://eu.test' } } };
    const { token } = await obtain({ ...client, tokenResponse }, [reply]);
    expect(token).toMatchObject({
      accessToken: 'at-7654321',
      expiresAtMs: nowMs + 1_800_000,
      metadata: { site: 'https://eu.test' },
    });
  });

  test.each([[undefined], [0], ['soon'], [-5], [1e300]])('with a lifetime of %j lives for the default', async (ttl) => {
    const { token } = await obtain({ ...client, refresh: { defaultTtlSeconds: 100 } }, [
      { body: { access_token: 'at-1234567', expires_in: ttl } },
    ]);
    expect(token.expiresAtMs).toBe(nowMs + 100_000);
  });

  test.each([
    [401, { error: 'invalid_client' }, 'auth_failed', '401 (invalid_client)'],
    [400, { error: 'invalid_grant' }, 'auth_failed', '400 (invalid_grant)'],
    [200, { error: 'access_denied' }, 'auth_failed', '200 (access_denied)'],
    [403, '<html>', 'auth_failed', 'responded with 403'],
    [400, { error: 'p ss/word' }, 'auth_failed', 'responded with 400 '],
    [404, '', 'source_rejected', 'responded with 404'],
    [302, '', 'source_rejected', 'responded with 302'],
    [200, { token: 'at' }, 'source_rejected', '"access_token"'],
    [200, '<html>', 'source_rejected', 'JSON'],
    [503, '', 'source_unavailable', '503 in 3 attempts'],
    [400, { error: 'temporarily_unavailable' }, 'source_unavailable', '400 in 3 attempts'],
  ])('of %i with %j is %s', async (status, body, code, words) => {
    const failure = await obtain(client, [{ status, body }]).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code, message: expect.stringContaining(words) });
    expect(String(failure)).not.toContain(secrets.secret);
  });

  test('that comes after trouble is as good as any', async () => {
    const { token, calls } = await obtain(client, [{ status: 500 }, { status: 429 }, standard]);
    expect(token.accessToken).toBe('at-1234567');
    expect(calls.map(({ statusCode, attempt }) => [statusCode, attempt])).toEqual([
      [500, 1],
      [429, 2],
      [200, 3],
    ]);
  });

  test('is in the log as a fact, a refusal with its reason', async () => {
    const { calls } = await obtain(client, [{ status: 500, body: { error: 'busy' } }, standard]);
    expect(calls).toMatchObject([
      { reqBodyRedacted: '[redacted]', respBodyTruncated: '{"error":"busy"}' },
      { reqBodyRedacted: '[redacted]', respBodyTruncated: '[redacted]', method: 'POST', statusCode: 200 },
    ]);
  });

  test('is not requested when the egress guard blocks the address', async () => {
    await expect(obtain(client, [standard], false)).rejects.toMatchObject({ code: 'egress_blocked' });
  });
});

describe('a session', () => {
  const session = {
    kind: 'session',
    login: {
      method: 'POST',
      path: '/login',
      body: { form: { user: '{{ secrets.id }}', pass: '{{ secrets.secret }}' } },
    },
    tokenFrom: 'body.sid',
  };

  test('begins with the login of the spec and lives until it is refused', async () => {
    const { token, requests } = await obtain(session, [{ body: { sid: 'sid-1234' } }]);
    expect(token).toMatchObject({ accessToken: 'sid-1234', expiresAtMs: null });
    expect(requests[0]?.url.pathname).toBe('/login');
    expect(requests[0]?.body).toBe('user=client%3A1&pass=p+ss%2Fword');
  });

  test.each([
    [{ ttlSeconds: 60 }, nowMs + 60_000],
    [{ ttlSeconds: 60, expiresFrom: 'body.until' }, Date.UTC(2026, 0, 2)],
    [{ ttlSeconds: 60, expiresFrom: 'body.no' }, nowMs + 60_000],
  ])('with %j ends in time', async (changes, expiresAtMs) => {
    const reply = { body: { sid: 'sid-1234', until: '2026-01-02T00:00:00Z' } };
    expect((await obtain({ ...session, ...changes }, [reply])).token.expiresAtMs).toBe(expiresAtMs);
  });

  test.each([
    [{ status: 200, body: { ok: false } }, 'auth_failed', 'tokenFrom'],
    [{ status: 422, body: {} }, 'auth_failed', '422'],
  ])('that does not begin with %j fails', async (reply, code, words) => {
    await expect(obtain(session, [reply])).rejects.toMatchObject({ code, message: expect.stringContaining(words) });
  });

  test('cannot log in at another site than the API', async () => {
    const login = { method: 'POST', url: 'https://evil.test/login' };
    await expect(obtain({ ...session, login })).rejects.toMatchObject({ code: 'egress_blocked' });
  });
});

describe('a signed token', () => {
  const jwt = { kind: 'jwt', algorithm: 'RS256', key: '{{ secrets.rsa }}', claims: { iss: '{{ secrets.id }}' } };

  test('needs no request', async () => {
    const { token, requests } = await obtain({ ...jwt, ttlSeconds: 60, keyId: 'k1' });
    const { payload, protectedHeader } = await jwtVerify(token.accessToken, pairs.rsa.publicKey, {
      currentDate: new Date(nowMs),
    });
    expect(payload).toEqual({ iss: 'client:1', iat: nowMs / 1000, exp: nowMs / 1000 + 60 });
    expect(protectedHeader).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'k1' });
    expect(requests).toEqual([]);
  });

  test('is traded for an access token', async () => {
    const exchange = { tokenUrl: '{{ params.url }}/token', params: { resource: 'r' } };
    const obtained = await obtain({ ...jwt, exchange });
    const { assertion = '', ...fields } = fieldsOf(obtained);
    expect(obtained.requests[0]?.headers['authorization']).toBeUndefined();
    expect(fields).toEqual({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', resource: 'r' });
    const verified = await jwtVerify(assertion, pairs.rsa.publicKey, { currentDate: new Date(nowMs) });
    expect(verified.payload.iss).toBe('client:1');
    expect(obtained.token).toMatchObject({ accessToken: 'at-1234567', expiresAtMs: nowMs + 60_000 });
    expect(obtained.masked).toContain(assertion);
  });

  test.each([
    ['RS256', '{{ secrets.pkcs1 }}'],
    ['ES256', '{{ secrets.ec }}'],
    ['EdDSA', '{{ secrets.jwk }}'],
    ['HS256', '{{ secrets.rsa }}'],
  ])('%s takes the key %s', async (algorithm, key) => {
    expect((await obtain({ ...jwt, algorithm, key })).token.accessToken).toMatch(/^eyJ/);
  });

  test.each([
    ['RS256', '{{ secrets.ec }}', 'does not fit'],
    ['ES256', '{{ secrets.secret }}', 'not a private key'],
    ['HS256', '{{ secrets.none }}', 'is empty'],
  ])('%s refuses the key %s', async (algorithm, key, words) => {
    const failure = obtain({ ...jwt, algorithm, key });
    await expect(failure).rejects.toMatchObject({ code: 'auth_failed', message: expect.stringContaining(words) });
  });
});
