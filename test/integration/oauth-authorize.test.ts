import { createHash } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { purgeOauthStates } from '../../db/queries/connections/oauth-states.ts';
import { createApp } from '../../src/api/app.ts';
import { caseFigure, figure } from '../support/security/figure.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { eventually } from '../support/service/eventually.ts';
import { holdRows } from '../support/service/sql-gate.ts';
import { oauthFlow } from '../support/sync/oauth-flow.ts';
import { type OauthServer, startOauthServer } from '../support/upstream/oauth-server.ts';

const clientSecret = 'c1ient+secret/of:this=test';
const started = new AsyncDisposableStack();
let oauth: OauthServer;
let api: TestApi;
let org: TestOrg;

beforeAll(async () => {
  oauth = started.use(await startOauthServer());
  api = started.use(await startApi({ allow: oauth.hostPort }));
  org = await api.newOrg();
});
beforeEach(() => {
  oauth.reply = () => undefined;
  oauth.sentBack = {};
});
afterAll(() => started.disposeAsync());

const { connect, authorizeUrl, come, tokensOf } = oauthFlow(() => ({
  api,
  org,
  oauth,
  clientSecret,
}));

describe('authorize', () => {
  it('gives the page of the provider with all that the flow needs', async () => {
    const id = await connect();
    const url = new URL(await authorizeUrl(id));
    const { state = '', code_challenge: challenge, ...rest } = Object.fromEntries(url.searchParams);
    expect(url.origin + url.pathname).toBe(`${oauth.url}/authorize`);
    expect(rest).toEqual({
      access_type: 'offline',
      response_type: 'code',
      client_id: 'client',
      redirect_uri: 'http://localhost:3100/api/v1/oauth/callback',
      scope: 'read:a,read:b',
      code_challenge_method: 'S256',
    });
    expect(challenge).toMatch(/^[\w-]{43}$/);
    expect(decodeProtectedHeader(state)).toEqual({ alg: 'HS256', typ: 'oauth-state+jwt', kid: 's1' });
    const { aud, iat = 0, exp, jti, ...claims } = decodeJwt(state);
    expect({ aud, exp, ...claims }).toEqual({ aud: 'oauth-state', exp: iat + 600, org: org.orgId });
    const row = await stateRow(jti);
    expect(row).toMatchObject({ connectionId: id, issuer: oauth.url, redirectUri: rest['redirect_uri'] });
  });

  it('works without PKCE and for clients without a secret', async () => {
    const id = await connect({ pkce: false, clientAuth: 'none', clientSecret: undefined });
    const url = new URL(await authorizeUrl(id));
    expect([...url.searchParams.keys()]).not.toContain('code_challenge');
    expect((await come(await oauth.agree(url.href))).status).toBe(200);
    const { authorization, fields } = oauth.requests.at(-1) ?? {};
    expect(authorization).toBeUndefined();
    expect(fields).toMatchObject({ client_id: 'client' });
    expect(Object.keys(fields ?? {})).not.toContain('code_verifier');
  });

  it('refuses a connection that nobody has to authorize', async () => {
    const id = await connect({}, { kind: 'none' });
    const reply = await org.call('GET', `/oauth/${id}/authorize`);
    expect(reply).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
  });

  it.each(['http://login.acme.example/authorize', 'https://169.254.169.254/authorize'])(
    'sends nobody to %s',
    async (address) => {
      const id = await connect({ authorizeUrl: address });
      const reply = await org.call('GET', `/oauth/${id}/authorize`);
      expect(reply).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
    },
  );

  it('and callback respond with 500 where OAuth is not configured', async () => {
    const id = await connect();
    const app = createApp({ ...api.deps, oauth: null });
    const headers = { authorization: `Bearer ${org.apiKey}` };
    for (const path of [`${id}/authorize`, 'callback?code=x&state=y']) {
      const response = await app.request(`/api/v1/oauth/${path}`, { headers });
      expect(response.status).toBe(500);
      expect(await response.json()).toMatchObject({ error: { code: 'internal' } });
    }
  });
});

describe('callback', () => {
  it('exchanges the code, seals the tokens and sets the connection active', async () => {
    const id = await connect();
    const url = await authorizeUrl(id);
    const reply = await come(await oauth.agree(url));
    expect(reply).toMatchObject({ status: 200, body: { connected: true, connectionId: id } });
    expect(reply.headers.get('referrer-policy')).toBe('no-referrer');
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect((await org.call('GET', `/connections/${id}`)).body.status).toBe('active');

    const { authorization, fields = {} } = oauth.requests.at(-1) ?? {};
    expect(authorization).toBe(`Basic ${Buffer.from(`client:${encodeURIComponent(clientSecret)}`).toString('base64')}`);
    const verifier = String(fields['code_verifier']);
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    expect(new URL(url).searchParams.get('code_challenge')).toBe(challenge);
    expect(fields).toMatchObject({
      grant_type: 'authorization_code',
      redirect_uri: 'http://localhost:3100/api/v1/oauth/callback',
      audience: 'api',
    });
    const { rows } = await sql<{ row: string }>`
      select t::text || encode(ciphertext, 'escape') as row from tokens t where connection_id = ${id}`.execute(
      api.deps.db,
    );
    expect(rows).toHaveLength(1);
    const shown = [...rows.map(({ row }) => row), ...api.logLines].join('\n');
    for (const secret of [String(fields['code']), verifier, clientSecret, 'eyJ']) expect(shown).not.toContain(secret);
  });

  it('takes a state once', async () => {
    const id = await connect();
    const path = await oauth.agree(await authorizeUrl(id));
    const before = oauth.requests.length;
    const replies = await Promise.all([come(path), come(path)]);
    const taken = replies.filter(({ status }) => status === 200).length;
    figure('forgedOauthStates', { count: taken - 1, of: replies.length - 1 });
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 401]));
    expect(oauth.requests).toHaveLength(before + 1);
    expect(await come(path)).toMatchObject(unauthorized);
  });

  it('of 40 at once with one state lets the org of the state have 20, and another org is served meanwhile', async () => {
    const id = await connect();
    const path = await oauth.agree(await authorizeUrl(id));
    const select = `select from oauth_states where connection_id = '${id}' for update`;
    await using held = await holdRows(api.databaseUrl, select);
    const refused = Promise.withResolvers<void>();
    const statuses: number[] = [];
    const flood = Array.from({ length: 40 }, async () => {
      const { status, headers } = await come(path);
      statuses.push(status);
      if (status === 429) expect(headers.get('retry-after')).toBe('2');
      if (statuses.length === 20) refused.resolve();
    });
    await refused.promise;
    const other = await api.newOrg();
    for (let read = 0; read < 5; read += 1) expect((await other.call('GET', '/connections')).status).toBe(200);
    expect(statuses).toEqual(Array(20).fill(429));
    await held.open();
    await Promise.all(flood);
    expect(statuses.filter((status) => status === 401)).toHaveLength(19);
    expect(statuses).toContain(200);
  });

  it('refuses a state that was altered, signed otherwise, or never issued', async () => {
    const id = await connect();
    const url = new URL(await oauth.agree(await authorizeUrl(id)), oauth.url);
    const [head = '', body = '', signature = ''] = (url.searchParams.get('state') ?? '').split('.');
    const key = api.deps.oauth?.stateKeys[0]?.key ?? new Uint8Array();
    const signed = (type: string, audience: string, kid = 's1') =>
      new SignJWT({ jti: String(decodeJwt(`${head}.${body}.${signature}`).jti), org: org.orgId })
        .setProtectedHeader({ alg: 'HS256', typ: type, kid })
        .setAudience(audience)
        .setIssuedAt()
        .setExpirationTime('1 h');
    const unsigned = `${Buffer.from('{"alg":"none","typ":"oauth-state+jwt"}').toString('base64url')}.${body}.`;
    const states = [
      `${head}.${body}.${signature.slice(1)}A`,
      unsigned,
      await signed('embed+jwt', 'oauth-state').sign(key),
      await signed('oauth-state+jwt', 'embed').sign(key),
      await signed('oauth-state+jwt', 'oauth-state', 's2').sign(key),
      await signed('oauth-state+jwt', 'oauth-state').sign(new Uint8Array(32)),
      await signed('oauth-state+jwt', 'oauth-state').setExpirationTime('-1 s').sign(key),
      await signed('oauth-state+jwt', 'oauth-state').setJti('never issued').sign(key),
    ];
    for (const state of states) {
      url.searchParams.set('state', state);
      const reply = await come(url.pathname + url.search);
      caseFigure('forgedOauthStates', reply.status !== 401);
      expect(reply).toMatchObject(unauthorized);
    }
    url.searchParams.set('state', `${head}.${body}.${signature}`);
    expect((await come(url.pathname + url.search)).status).toBe(200);
  });

  it('refuses a state that is over, and the sweeper removes it', async () => {
    const { db } = api.deps;
    const [over, open] = [await connect(), await connect()];
    const path = await oauth.agree(await authorizeUrl(over));
    await authorizeUrl(open);
    await sql`update oauth_states set expires_at = now() where connection_id = ${over}`.execute(db);
    const late = await come(path);
    caseFigure('forgedOauthStates', late.status !== 401);
    expect(late).toMatchObject(unauthorized);
    await purgeOauthStates(db);
    const rows = await db.selectFrom('oauthStates').select('connectionId').execute();
    const left = rows.map(({ connectionId }) => connectionId);
    expect(left).toContain(open);
    expect(left).not.toContain(over);
  });

  it('refuses the response of another issuer, and takes that of the right one', async () => {
    const id = await connect();
    for (const [iss, status] of [
      ['https://evil.example', 401],
      ['nonsense', 401],
      [`${oauth.url}/realm`, 200],
    ] as const) {
      oauth.sentBack = { iss };
      expect((await come(await oauth.agree(await authorizeUrl(id)))).status).toBe(status);
    }
  });

  it('keeps values of the redirect, and takes the code under another name, where the spec says so', async () => {
    const id = await connect({ callback: { code: 'auth_code', metadata: { realm: 'realmId' } } });
    const renamed = async () => (await oauth.agree(await authorizeUrl(id))).replace('code=', 'auth_code=');
    const without = await come(await renamed());
    expect(without).toMatchObject({ status: 409, body: { error: { message: expect.stringContaining('"realmId"') } } });
    oauth.sentBack = { realmId: '42' };
    expect(await come(await renamed())).toMatchObject({ status: 200, body: { connected: true } });
    expect(oauth.requests.at(-1)?.fields).toMatchObject({ grant_type: 'authorization_code' });
  });

  it('checks the state first where there may be a code under another name', async () => {
    expect(await come('/oauth/callback?auth_code=x&state=forged')).toMatchObject(unauthorized);
  });

  it.each([
    'error=access_denied&state=:state',
    'code=x',
    'state=:state',
    'code=&state=:state',
    'code=x&state=',
    'state=',
  ])('without code or without state is a 400 without code: %s', async (query) => {
    const id = await connect();
    const state = new URL(await authorizeUrl(id)).searchParams.get('state');
    const { status, body } = await come(`/oauth/callback?${query.replace(':state', String(state))}`);
    expect(status).toBe(400);
    expect(Object.keys(body.error)).toEqual(['message']);
  });

  it.each(['code=%00', 'code=x&code=y', 'code=x&iss=%00', 'code=x&iss=a&iss=b'])(
    'refuses a state that is not ours before it looks at its neighbours: %s',
    async (query) => {
      expect(await come(`/oauth/callback?${query}&state=forged`)).toMatchObject(unauthorized);
      const state = new URL(await authorizeUrl(await connect())).searchParams.get('state');
      expect(await come(`/oauth/callback?${query}&state=${state}`)).toMatchObject({
        status: 400,
        body: { error: { code: 'validation' } },
      });
    },
  );

  it.each([
    ['has no access token', { status: 200, body: { token_type: 'Bearer' } }],
    ['is a refusal', { status: 400, body: { error: 'invalid_grant', error_description: clientSecret } }],
    ['is trouble', { status: 503, body: {} }],
  ])('is a conflict when what the token endpoint responds %s', async (_name, rejection) => {
    const id = await connect();
    oauth.reply = () => rejection;
    const reply = await come(await oauth.agree(await authorizeUrl(id)));
    expect(reply).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
    expect(JSON.stringify(reply.body)).not.toContain(clientSecret);
    expect((await org.call('GET', `/connections/${id}`)).body.status).toBe('pending');
  });

  it('activates no more connections than the plan allows, and keeps the grant for later', async () => {
    const small = await api.newOrg({ activeConnectionsMax: 1 });
    const [one, other] = [await connect({}, undefined, small), await connect({}, undefined, small)];
    expect((await come(await oauth.agree(await authorizeUrl(one, small)))).status).toBe(200);
    expect((await come(await oauth.agree(await authorizeUrl(one, small)))).status).toBe(200);
    const refused = await come(await oauth.agree(await authorizeUrl(other, small)));
    expect(refused).toMatchObject({ status: 402, body: { error: { code: 'plan_limit' } } });
    expect(await tokensOf(other)).toBe(1);
    expect((await small.call('GET', `/connections/${other}`)).body.status).toBe('pending');
  });
});

describe('the account that a connection shows', () => {
  it('says neither a secret of the connection nor a token, whatever the provider gives as its name', async () => {
    const id = await connect({ account: ['team'], tokenResponse: { metadata: { team: 'team' } } });
    const tokens = { access_token: 'access-token-0815-ijklmnop', refresh_token: 'refresh-token-1234-qrst' };
    const repeated = [clientSecret, ...Object.values(tokens)];
    oauth.reply = () => ({
      status: 200,
      body: { ...tokens, token_type: 'bearer', expires_in: 3600, team: `of ${repeated.join(' ')}` },
    });
    expect(await come(await oauth.agree(await authorizeUrl(id)))).toMatchObject({ status: 200 });
    const { body } = await org.call('GET', `/connections/${id}`);
    expect(body.accounts).toMatchObject([{ values: { team: 'of [redacted] [redacted] [redacted]' } }]);
    const row = await api.deps.db.selectFrom('connections').selectAll().where('id', '=', id).executeTakeFirst();
    expect(repeated.filter((secret) => JSON.stringify(row).includes(secret))).toEqual([]);
  });
});

describe('deleting a connection', () => {
  it('gives its grant back, and ends authorizations in progress', async () => {
    const id = await connect();
    await come(await oauth.agree(await authorizeUrl(id)));
    const path = await oauth.agree(await authorizeUrl(id));
    const before = oauth.revocations();
    expect((await org.call('DELETE', `/connections/${id}`)).status).toBe(200);
    expect(await tokensOf(id)).toBe(0);
    expect(await come(path)).toMatchObject(unauthorized);
    await eventually('the grant is given back', async () => oauth.revocations() === before + 1);
  });

  it('does not wait for a provider that is away', async () => {
    const id = await connect({ revokeUrl: 'https://away.invalid/revoke' });
    await come(await oauth.agree(await authorizeUrl(id)));
    expect((await org.call('DELETE', `/connections/${id}`)).status).toBe(200);
    await eventually('the log says so', async () =>
      api.logLines.some((line) => line.includes('grant not revoked at the provider')),
    );
  });
});

const unauthorized = { status: 401, body: { error: { code: 'unauthorized' } } };

const stateRow = (stateId = '') =>
  api.deps.db
    .selectFrom('oauthStates')
    .selectAll()
    .where('stateHash', '=', createHash('sha256').update(stateId).digest())
    .executeTakeFirst();
