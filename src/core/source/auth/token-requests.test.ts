import { jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { fieldsOf, nowMs, pairs, secrets, standard, useObtain } from './token-requests-fixture.ts';

const obtain = useObtain();
const client = {
  kind: 'oauth2_client_credentials',
  tokenUrl: '{{ params.url }}/token',
  clientId: '{{ secrets.id }}',
  clientSecret: '{{ secrets.secret }}',
};

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

  test('by fields of a JSON object', async () => {
    const { requests } = await obtain({ ...client, clientAuth: 'post', tokenRequest: 'json', scopes: ['a'] });
    expect(requests[0]?.headers).toMatchObject({ accept: 'application/json', 'content-type': 'application/json' });
    expect(JSON.parse(requests[0]?.body ?? '')).toEqual({
      grant_type: 'client_credentials',
      client_id: 'client:1',
      client_secret: 'p ss/word',
      scope: 'a',
    });
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

  test('only with a private key: another text fails with auth_failed, and the message shows nothing of it', async () => {
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
    [401, { error: 'invalid_client' }, 'auth_failed', 'in the header (clientAuth: basic)'],
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

  test('that refuses the client in the body says that there is another way', async () => {
    const refused = obtain({ ...client, clientAuth: 'post' }, [{ status: 401, body: { error: 'invalid_client' } }]);
    await expect(refused).rejects.toThrow(
      'The client was sent in the body (clientAuth: post); if the API wants it in the header, use clientAuth: basic.',
    );
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
