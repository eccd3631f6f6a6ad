import { jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { fieldsOf, nowMs, pairs, useObtain } from './token-requests-fixture.ts';

const obtain = useObtain();

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

  test('is traded by a JSON object where the spec says so', async () => {
    const exchange = { tokenUrl: '{{ params.url }}/token', tokenRequest: 'json' };
    const { requests } = await obtain({ ...jwt, exchange });
    expect(JSON.parse(requests[0]?.body ?? '')).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: expect.stringMatching(/^eyJ/),
    });
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
