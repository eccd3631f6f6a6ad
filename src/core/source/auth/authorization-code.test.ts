import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { parseAllowList } from '../../http/addresses.ts';
import { createEgressGuard } from '../../http/egress.ts';
import type { LoggedCall } from '../../http/logged-call.ts';
import type { OauthAuthorizationCode } from '../../spec/schema/auth-schema.ts';
import { type ApiReply, type ApiRequest, sourceOf, startApi } from '../source-fixture.ts';
import { authValues } from './auth-values.ts';
import { authorizeUrl, exchangeCode, grantKey, refreshGrant, revokeGrant } from './authorization-code.ts';
import type { TokenRequestContext } from './oauth-token.ts';
import type { Token } from './token.ts';
import { createTokenClient } from './token-client.ts';

const nowMs = Date.UTC(2026, 0, 1);
let evaluator: TestEvaluator;
beforeAll(() => {
  evaluator = createTestEvaluator({ size: 1 });
});
afterAll(() => evaluator[Symbol.asyncDispose]());

const secrets = { id: 'client-1', secret: 'p ss/word' };
const grant = {
  kind: 'oauth2_authorization_code',
  authorizeUrl: 'https://login.acme.test/authorize?account={{ params.account }}',
  tokenUrl: '{{ params.url }}/token',
  clientId: '{{ secrets.id }}',
  clientSecret: '{{ secrets.secret }}',
};
const standard = { body: { access_token: 'at-1234567', refresh_token: 'rt-1234567', expires_in: 60 } };
const held: Token = {
  accessToken: 'at-held-1',
  refreshToken: 'rt-held-1',
  obtainedAtMs: nowMs - 60_000,
  expiresAtMs: nowMs,
  metadata: { site: 'eu', plan: 'free' },
};

interface Asked<Result> {
  readonly result: Result;
  readonly requests: readonly ApiRequest[];
  readonly calls: readonly LoggedCall[];
  readonly masked: readonly string[];
}

type Ask<Result> = (auth: OauthAuthorizationCode, context: TokenRequestContext) => Promise<Result>;

/** Asks a provider that gives this response for ever. */
async function asking<Result>(
  ask: Ask<Result>,
  { changes = {}, reply = standard }: { readonly changes?: object; readonly reply?: ApiReply } = {},
): Promise<Asked<Result>> {
  await using api = await startApi(() => reply);
  const calls: LoggedCall[] = [];
  const masked: string[] = [];
  const allow = parseAllowList(new URL(api.origin).host);
  await using client = createTokenClient({
    egress: createEgressGuard({ allow, deny: [], allowHttp: false }),
    logCall: (call) => void calls.push(call),
    secrets: [],
    sleep: async () => {},
  });
  const mask = (secret: string) => {
    masked.push(secret);
    client.addSecret(secret);
  };
  const source = sourceOf(
    { api, evaluator, resource: {}, auth: { ...grant, ...changes } },
    { params: { url: api.origin, account: 'a b' }, secrets, mask },
  );
  const { auth } = source;
  if (auth.kind !== 'oauth2_authorization_code') throw new Error('the auth is a grant');
  const result = await ask(auth, { client, values: authValues(source), now: () => new Date(nowMs) });
  return { result, requests: api.requests, calls, masked };
}

const fieldsOf = ({ requests: [request] }: Pick<Asked<unknown>, 'requests'>) =>
  Object.fromEntries(new URLSearchParams(request?.body));
const refreshing =
  (previous: Token | null = held, resourceKey: string | null = null): Ask<Token> =>
  (auth, context) =>
    refreshGrant(auth, previous, { ...context, resourceKey });

describe('the page of the provider', () => {
  const request = { redirectUri: 'https://us.test/back', state: 'the-state', codeVerifier: null };

  test('gets what the flow needs, over what the spec adds', async () => {
    const changes = { scopes: ['a', 'b'], authorizeParams: { prompt: 'consent', state: 'x', none: '{{ params.no }}' } };
    const { result: url } = await asking((auth, { values }) => authorizeUrl(auth, values, request), { changes });
    expect(url.origin + url.pathname).toBe('https://login.acme.test/authorize');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      account: 'a b',
      prompt: 'consent',
      response_type: 'code',
      client_id: 'client-1',
      redirect_uri: 'https://us.test/back',
      state: 'the-state',
      scope: 'a b',
    });
  });

  test('gets the challenge of RFC 7636, appendix B', async () => {
    const codeVerifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
    const { result: url } = await asking((auth, { values }) =>
      authorizeUrl(auth, values, { ...request, codeVerifier }),
    );
    expect(url.searchParams.get('code_challenge')).toBe('E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM');
    expect(url.searchParams.get('code_challenge_method')).toBe('S256');
  });
});

describe('a code', () => {
  const code = { query: { code: 'code-1234' }, redirectUri: 'https://us.test/back', codeVerifier: 'verifier-1234' };
  const exchanging: Ask<Token> = (auth, context) => exchangeCode(auth, code, context);

  const redirected = (query: Readonly<Record<string, string>>): Ask<Token> => {
    const request = { query, redirectUri: 'https://us.test/back', codeVerifier: null };
    return (auth, context) => exchangeCode(auth, request, context);
  };

  test('is found under another name, and other values of the redirect are kept where the spec says so', async () => {
    const callback = { code: 'auth_code', metadata: { realm: 'realmId', site: 'site' } };
    const changes = { callback, tokenResponse: { metadata: { site: 'instance', plan: 'plan' } } };
    const query = { auth_code: 'code-1234', realmId: '42', site: 'eu', other: 'x' };
    const reply = { body: { ...standard.body, instance: 'us' } };
    const asked = await asking(redirected(query), { changes, reply });
    expect(fieldsOf(asked)).toMatchObject({ code: 'code-1234' });
    expect(asked.result.metadata).toEqual({ realm: '42', site: 'us' });
    expect(asked.masked).toContain('code-1234');
  });

  test('that was refreshed still has what the redirect had', async () => {
    const changes = { callback: { metadata: { site: 'site' } } };
    const { result } = await asking(refreshing(), { changes });
    expect(result.metadata).toEqual({ site: 'eu', plan: 'free' });
  });

  test.each([
    ['the code', { realmId: '42' }, '"code"'],
    ['a value to keep', { code: 'code-1234' }, 'no "realmId"'],
    ['a value of reasonable length', { code: 'code-1234', realmId: 'x'.repeat(2001) }, 'more than 2000'],
  ])('is not exchanged without %s', async (_what, query, message) => {
    const changes = { callback: { metadata: { realm: 'realmId' } } };
    const asked = asking(redirected(query), { changes });
    await expect(asked).rejects.toMatchObject({ code: 'source_rejected', message: expect.stringContaining(message) });
  });

  test('is exchanged as JSON where the spec says so', async () => {
    const asked = await asking(exchanging, { changes: { tokenRequest: 'json', clientAuth: 'post' } });
    const [request] = asked.requests;
    expect(request?.headers['content-type']).toBe('application/json');
    expect(JSON.parse(request?.body ?? '')).toEqual({
      grant_type: 'authorization_code',
      code: 'code-1234',
      redirect_uri: 'https://us.test/back',
      code_verifier: 'verifier-1234',
      client_id: 'client-1',
      client_secret: 'p ss/word',
    });
    expect(JSON.stringify(asked.calls)).not.toMatch(/code-1234|verifier-1234|p ss|1234567/);
  });

  test('is exchanged by a client that proves itself, and nothing of it is shown', async () => {
    const changes = { clientAuth: 'post', tokenParams: { audience: 'x', grant_type: 'ours' } };
    const asked = await asking(exchanging, { changes });
    expect(asked.result).toEqual({
      accessToken: 'at-1234567',
      refreshToken: 'rt-1234567',
      obtainedAtMs: nowMs,
      expiresAtMs: nowMs + 60_000,
      metadata: {},
    });
    expect(fieldsOf(asked)).toEqual({
      audience: 'x',
      grant_type: 'authorization_code',
      code: 'code-1234',
      redirect_uri: 'https://us.test/back',
      code_verifier: 'verifier-1234',
      client_id: 'client-1',
      client_secret: 'p ss/word',
    });
    expect(asked.masked).toEqual(expect.arrayContaining(['code-1234', 'verifier-1234', 'p ss/word']));
    expect(JSON.stringify(asked.calls)).not.toMatch(/code-1234|verifier-1234|p ss|1234567/);
  });

  test('that brings no refresh token brings an access token for as long as the API takes it', async () => {
    const reply = { body: { access_token: 'at-1234567', refresh_token: '', expires_in: 60 } };
    const { result } = await asking(exchanging, { reply });
    expect(result).toMatchObject({ refreshToken: null, expiresAtMs: null });
  });

  test.each([
    [{ status: 400, body: { error: 'invalid_grant' } }, 'auth_failed'],
    [{ status: 200, body: {} }, 'source_rejected'],
    [{ status: 503 }, 'source_unavailable'],
  ])('with the response %j brings nothing', async (reply, failure) => {
    await expect(asking(exchanging, { reply })).rejects.toMatchObject({ code: failure });
  });
});

describe('a refresh', () => {
  test('goes to its own address, where there is one', async () => {
    const asked = await asking(refreshing(), { changes: { refreshUrl: '{{ params.url }}/refresh' } });
    expect(asked.requests[0]?.url.pathname).toBe('/refresh');
    expect(fieldsOf(asked)).toEqual({ grant_type: 'refresh_token', refresh_token: 'rt-held-1' });
    expect(asked.masked).toEqual(expect.arrayContaining(['rt-held-1', 'p ss/word']));
  });

  test.each([
    ['auto', 'rt-1234567', 'rt-1234567'],
    ['auto', undefined, 'rt-held-1'],
    ['always', 'rt-1234567', 'rt-1234567'],
    ['always', undefined, null],
    ['never', 'rt-1234567', 'rt-held-1'],
    ['never', undefined, 'rt-held-1'],
  ])('with rotation %s and the response %s leaves %s', async (rotation, sent, refreshToken) => {
    const reply = { body: { ...standard.body, refresh_token: sent } };
    const { result } = await asking(refreshing(), { changes: { refresh: { rotation } }, reply });
    expect(result).toMatchObject({ accessToken: 'at-1234567', refreshToken });
  });

  test('keeps the metadata that its response does not repeat', async () => {
    const changes = { tokenResponse: { metadata: { site: 'site', plan: 'plan' } } };
    const reply = { body: { ...standard.body, plan: 'pro' } };
    const { result } = await asking(refreshing(), { changes, reply });
    expect(result.metadata).toEqual({ site: 'eu', plan: 'pro' });
  });

  test.each([
    ['invalid_grant', { status: 400, body: { error: 'invalid_grant' } }, 'auth_failed', '/authorize'],
    ['trouble', { status: 503 }, 'source_unavailable', '503'],
    ['a page', { status: 200, body: '<html>' }, 'source_unavailable', 'JSON'],
    ['no token', { status: 200, body: {} }, 'source_unavailable', 'access_token'],
    ['an address that does not exist', { status: 404 }, 'source_unavailable', '404'],
  ])('whose response is %s fails', async (_name, reply, code, words) => {
    const failure = asking(refreshing(), { reply });
    await expect(failure).rejects.toMatchObject({ code, message: expect.stringContaining(words) });
  });

  test.each([
    ['anything', null],
    ['a refresh token', { ...held, refreshToken: null }],
  ])('without %s says where to authorize', async (_name, previous) => {
    const failure = asking(refreshing(previous));
    const message = expect.stringContaining('GET /api/v1/oauth/:connectionId/authorize returns');
    await expect(failure).rejects.toMatchObject({ code: 'auth_failed', message });
    const ofResource = asking(refreshing(previous, 'reports'));
    const named = expect.stringMatching(/the resource "reports".*:connectionId\/authorize\?resource=reports returns/);
    await expect(ofResource).rejects.toMatchObject({ code: 'auth_failed', message: named });
  });
});

describe('a grant', () => {
  test.each([
    [held, { token: 'rt-held-1', token_type_hint: 'refresh_token' }],
    [
      { ...held, refreshToken: null },
      { token: 'at-held-1', token_type_hint: 'access_token' },
    ],
  ])('is given back where the spec says', async (token, fields) => {
    const changes = { revokeUrl: '{{ params.url }}/revoke' };
    const asked = await asking((auth, context) => revokeGrant(auth, token, context), {
      changes,
      reply: { body: 'OK' },
    });
    expect(asked.requests[0]?.url.pathname).toBe('/revoke');
    expect(fieldsOf(asked)).toEqual(fields);
    expect((await asking((auth, context) => revokeGrant(auth, token, context))).requests).toEqual([]);
  });

  test('belongs to a client at a token URL, whatever else changes', async () => {
    const keyOf = async (changes: object) =>
      (await asking((auth, { values }) => grantKey(auth, values), { changes: { tokenUrl, ...changes } })).result;
    const tokenUrl = 'https://login.acme.test/token';
    const key = await keyOf({});
    expect(await keyOf({ clientSecret: 'other', scopes: ['more'], clientAuth: 'post' })).toBe(key);
    expect(await keyOf({ clientId: 'other' })).not.toBe(key);
    expect(await keyOf({ tokenUrl: 'https://other.acme.test/token' })).not.toBe(key);
  });
});
