import { describe, expect, test } from 'vitest';
import { nowMs, useObtain } from './token-requests-fixture.ts';

const obtain = useObtain();

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
