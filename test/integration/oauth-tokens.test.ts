import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { leaseToken, takeUnusedTokens } from '../../db/queries/connections/tokens.ts';
import { orgScope } from '../../db/scope.ts';
import { eventually } from '../support/service/eventually.ts';
import {
  authorizationCode,
  type OauthConnection,
  type OauthService,
  recordCount,
  specOf,
  startOauthService,
} from '../support/sync/oauth-service.ts';
import { recordedEvents, typesOf } from '../support/webhooks/events.ts';

const clientSecret = 'secret-of-the-client';
const days = 86_400_000;
let service: OauthService;

beforeAll(async () => {
  service = await startOauthService();
  await service.ask('POST', '/oauth-apps', { key: 'acme', clientId: 'client', clientSecret });
});
beforeEach(() => {
  service.reply = () => undefined;
  service.oauth.reply = () => undefined;
  service.oauth.sentBack = {};
});
afterEach(({ task }) => {
  if (task.result?.state === 'fail') process.stderr.write(`${service.stack.tails()}\n`);
});
afterAll(() => service[Symbol.asyncDispose]());

describe('tokens that an org brings along', () => {
  it('count once the provider has refreshed them and the API was read', async () => {
    const { connect, grantElsewhere, oauth } = service;
    const connection = await connect(byApp());
    const grant = await grantElsewhere(clientSecret);
    const before = oauth.requests.length;
    expect(await bring(connection, grant)).toMatchObject({
      status: 200,
      body: { connected: true, connectionId: connection.id },
    });
    expect(oauth.requests).toHaveLength(before + 1);
    expect(oauth.requests.at(-1)?.fields['refresh_token']).toBe(grant.refreshToken);
    expect((await connection.read()).status).toBe('active');
    oauth.revokeAll();
    expect(await connection.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: recordCount } });
    expect(oauth.reuses()).toBe(0);
  });

  it('count without a refresh token while the API takes the access token', async () => {
    const { connect, grantElsewhere } = service;
    const connection = await connect(byApp());
    const { accessToken } = await grantElsewhere(clientSecret);
    expect((await bring(connection, { accessToken })).status).toBe(200);
    expect(await connection.sync()).toMatchObject({ status: 'succeeded' });
  });

  it('count when they are refreshed, although the API is away', async () => {
    const { connect, grantElsewhere } = service;
    const connection = await connect(byApp());
    service.reply = () => ({ status: 503, body: '{}' });
    expect((await bring(connection, await grantElsewhere(clientSecret))).status).toBe(200);
  });

  it.each([
    ['a refresh token that the provider refuses', { refreshToken: 'never-issued' }, /invalid_grant/],
    ['an access token that the API refuses', {}, /rejected the access token/],
  ])('leave nothing of %s', async (_, more, message) => {
    const connection = await service.connect(byApp());
    const reply = await bring(connection, { accessToken: 'no-such-token-at-all', ...more });
    expect(reply).toMatchObject({ status: 409, body: { error: { message: expect.stringMatching(message) } } });
    expect(JSON.stringify(reply.body)).not.toMatch(/never-issued|no-such-token/);
    expect((await connection.read()).status).toBe('pending');
    expect(await tokenOf(connection)).toBeUndefined();
  });

  it('leave the grant in use as it was when they are refused', async () => {
    const connection = await service.connect(byApp());
    await connection.authorize();
    const before = await tokenOf(connection);
    expect((await bring(connection, { accessToken: 'a', refreshToken: 'b' })).status).toBe(409);
    expect(await tokenOf(connection)).toEqual(before);
    expect(await connection.sync()).toMatchObject({ status: 'succeeded' });
  });

  it('are checked for what the spec needs of them', async () => {
    const { connect } = service;
    const connection = await connect(byApp({ callback: { metadata: { realm: 'realmId' } } }));
    expect(await bring(connection, { accessToken: 'a', metadata: { other: 'x' } })).toMatchObject({
      status: 400,
      body: { error: { issues: [{ path: 'metadata.realm' }, { path: 'metadata.other' }] } },
    });
    const over = { accessToken: 'a', expiresAt: '2020-01-01T00:00:00Z', metadata: { realm: '1' } };
    expect(await bring(connection, over)).toMatchObject({
      status: 400,
      body: { error: { issues: [{ path: 'expiresAt' }] } },
    });
    const { oauth, grantElsewhere } = service;
    const grant = { ...(await grantElsewhere(clientSecret)), metadata: { realm: '1' } };
    expect(await bring(connection, grant)).toMatchObject({ status: 200 });
    const asked = oauth.requests.length;
    const other = await bring(connection, { ...grant, metadata: { realm: '2' } });
    expect(other).toMatchObject({ status: 409, body: { error: { message: expect.stringContaining('newAccount') } } });
    expect(oauth.requests).toHaveLength(asked);
    const keyed = await connect({ kind: 'none' });
    expect(await bring(keyed, { accessToken: 'a' })).toMatchObject({ status: 409 });
  });
});

describe('tokens that a provider gave for imported ones', () => {
  it('are kept although the API refuses them, and count once a repeated import is accepted', async () => {
    const { connect, grantElsewhere, oauth } = service;
    const connection = await connect(byApp({ ...ofRealm, refresh: { rotation: 'always' } }));
    oauth.sentBack = { realmId: '1' };
    await connection.authorize();
    const before = await tokenOf(connection);
    const grant = await grantElsewhere(clientSecret);
    const reuses = oauth.reuses();
    service.reply = () => ({ status: 401, body: '{}' });
    expect(await bring(connection, { ...grant, metadata: { realm: 'wrong' }, newAccount: true })).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('are kept') } },
    });
    service.reply = () => undefined;
    expect(await tokenOf(connection)).toEqual(before);
    expect(await connection.sync()).toMatchObject({ status: 'succeeded' });
    const corrected = { ...grant, metadata: { realm: '2' }, newAccount: true };
    expect((await bring(connection, corrected)).status).toBe(200);
    expect((await connection.read()).accounts).toEqual([{ resource: null, values: { realm: '2' } }]);
    expect(await slotsOf(connection)).toEqual(['']);
    oauth.revokeAll();
    expect(await connection.sync()).toMatchObject({ status: 'succeeded' });
    expect(oauth.reuses()).toBe(reuses);
  });

  it('are kept although they are of another account, until that is agreed to', async () => {
    const { connect, grantElsewhere, oauth } = service;
    const connection = await connect(byApp(ofCompany));
    oauth.reply = () => ({ fields: { company: 'a' } });
    await connection.authorize();
    const before = await tokenOf(connection);
    const grant = await grantElsewhere(clientSecret);
    const reuses = oauth.reuses();
    oauth.reply = () => ({ fields: { company: 'b' } });
    expect(await bring(connection, grant)).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringMatching(/are kept.*newAccount: true/) } },
    });
    expect(await tokenOf(connection)).toEqual(before);
    expect((await bring(connection, { ...grant, newAccount: true })).status).toBe(200);
    expect((await connection.read()).accounts).toEqual([{ resource: null, values: { company: 'b' } }]);
    oauth.revokeAll();
    expect(await connection.sync()).toMatchObject({ status: 'succeeded' });
    expect(oauth.reuses()).toBe(reuses);
  });

  it('are kept although nothing says of which account they are, until metadata does or that is agreed to', async () => {
    const { connect, grantElsewhere, oauth } = service;
    const connection = await connect(byApp(ofCompany));
    oauth.reply = () => ({ fields: { company: 'a' } });
    await connection.authorize();
    const before = await tokenOf(connection);
    oauth.reply = () => undefined;
    const grant = await grantElsewhere(clientSecret);
    const asked = oauth.requests.length;
    const refused = {
      status: 409,
      body: { error: { message: expect.stringMatching(/not known.*metadata.*company.*newAccount: true/) } },
    };
    expect(await bring(connection, { accessToken: grant.accessToken })).toMatchObject(refused);
    expect(oauth.requests).toHaveLength(asked);
    expect(await bring(connection, grant)).toMatchObject(refused);
    expect(oauth.requests).toHaveLength(asked + 1);
    expect(await tokenOf(connection)).toEqual(before);
    expect((await bring(connection, { ...grant, metadata: { company: 'a' } })).status).toBe(200);
    expect((await connection.read()).accounts).toEqual([{ resource: null, values: { company: 'a' } }]);
    const { accessToken } = await grantElsewhere(clientSecret);
    await connection.sync();
    expect(await connection.sync()).toMatchObject({ statsJson: { recordsOut: 0 } });
    expect((await bring(connection, { accessToken, newAccount: true })).status).toBe(200);
    expect(await connection.sync()).toMatchObject({ statsJson: { recordsOut: recordCount } });
  });

  it('come to one import at a time', async () => {
    const { connect, grantElsewhere, oauth, stack } = service;
    const connection = await connect(byApp());
    const grant = await grantElsewhere(clientSecret);
    const asked = oauth.requests.length;
    const key = { connectionId: connection.id, slot: '#import' };
    await leaseToken(stack.db, orgScope(stack.org.orgId), { ...key, leaseSeconds: 60 });
    expect(await bring(connection, grant)).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('under way') } },
    });
    expect(oauth.requests).toHaveLength(asked);
  });
});

describe('a refresh token that nothing uses', () => {
  it('is refreshed before it lapses, also of a paused connection, and not before', async () => {
    const { connect, ask, oauth } = service;
    const connection = await connect(byApp({ refresh: { keepAlive: 'P30D' } }));
    await connection.authorize();
    await ask('POST', `/connections/${connection.id}/pause`);
    const due = Date.parse(String((await tokenOf(connection))?.keepAliveAt));
    expect(due - Date.now()).toBeGreaterThan(29.9 * days);
    expect(due - Date.now()).toBeLessThanOrEqual(30 * days);
    const before = oauth.requests.length;
    await pass(connection);
    await eventually('it is refreshed', async () => oauth.requests.length > before);
    await eventually('it is due in 30 days', async () => {
      const token = await tokenOf(connection);
      return Date.parse(String(token?.keepAliveAt)) - Date.now() > 29.9 * days;
    });
    expect(oauth.requests.at(-1)?.fields['grant_type']).toBe('refresh_token');
    expect(oauth.requests).toHaveLength(before + 1);
    await ask('POST', `/connections/${connection.id}/activate`);
    expect(await connection.sync()).toMatchObject({ status: 'succeeded' });
  });

  it('puts its connection in error when the provider refuses it', async () => {
    const { connect, oauth, stack } = service;
    const connection = await connect(byApp({ refresh: { keepAlive: 'P30D' } }));
    await connection.authorize();
    oauth.endGrants();
    await pass(connection);
    await eventually('the connection is in error', async () => (await connection.read()).status === 'error');
    expect((await connection.read()).error).toMatchObject({
      code: 'auth_failed',
      resourceKey: 'things',
      nextTestAt: null,
    });
    const types = typesOf(await recordedEvents(stack.db, { orgId: stack.org.orgId, connectionId: connection.id }));
    expect(types.slice(-2)).toEqual(['connection.error', 'connection.reauth_required']);
    expect((await tokenOf(connection))?.keepAliveAt).toBeNull();
    await connection.authorize();
    expect((await tokenOf(connection))?.keepAliveAt).not.toBeNull();
  });

  it('stays when the provider is away, and is tried again in an hour', async () => {
    const { connect, oauth } = service;
    const connection = await connect(byApp({ refresh: { keepAlive: 'P30D' } }));
    await connection.authorize();
    const { nonce } = (await tokenOf(connection)) ?? {};
    const before = oauth.requests.length;
    oauth.reply = () => ({ status: 503, body: {} });
    await pass(connection);
    await eventually('all attempts are made', async () => oauth.requests.length === before + 3);
    const token = await tokenOf(connection);
    expect(token?.nonce).toEqual(nonce);
    const dueIn = Date.parse(String(token?.keepAliveAt)) - Date.now();
    expect(dueIn).toBeGreaterThan(0);
    expect(dueIn).toBeLessThanOrEqual(3_600_000);
    expect((await connection.read()).status).toBe('active');
  });

  it('is kept alive as the current spec says', async () => {
    const { connect, ask, upstream } = service;
    const connection = await connect(byApp());
    await connection.authorize();
    expect((await tokenOf(connection))?.keepAliveAt).toBeNull();
    const { specKey } = connection;
    const upgrade = async (version: string, auth: object) => {
      await ask('POST', '/specs', specOf({ specKey, version, auth, upstream }));
      await ask('POST', `/specs/${specKey}/versions/${version}/publish`);
      await ask('POST', `/connections/${connection.id}/upgrade-spec`, { toVersion: version });
      return (await tokenOf(connection))?.keepAliveAt;
    };
    expect(await upgrade('1.1.0', byApp({ refresh: { keepAlive: 'P10D' } }))).not.toBeNull();
    expect(await upgrade('1.2.0', byApp())).toBeNull();
  });

  it('of one org waits for no other with many', async () => {
    const { stack, connect } = service;
    const other = await stack.newOrg();
    await service.ask('POST', '/oauth-apps', { key: 'acme', clientId: 'client', clientSecret }, other);
    const many: OauthConnection[] = [];
    for (let index = 0; index < 3; index += 1) many.push(await connect(byApp()));
    const single = await connect(byApp(), { org: other });
    for (const connection of [...many, single]) await connection.authorize();
    // In a transaction that is undone, the sweeper sees none of it.
    const taken = await stack.db.transaction().execute(async (tx) => {
      for (const [index, { id }] of [...many, single].entries()) {
        await sql`update tokens set keep_alive_at = now() - make_interval(hours => ${9 - index})
          where connection_id = ${id}`.execute(tx);
      }
      const due = await takeUnusedTokens(tx, { limit: 2, limitOfOrg: 2, busyOrgs: [] });
      await sql`update tokens set keep_alive_at = null`.execute(tx);
      return due.map(({ orgId }) => orgId);
    });
    expect(taken.toSorted()).toEqual([stack.org.orgId, other.orgId].toSorted());
  });
});

const byApp = (changes: object = {}) => authorizationCode(service.oauth, { app: 'acme', ...changes });

const ofRealm = { callback: { metadata: { realm: 'realmId' } } };

const ofCompany = { account: ['company'], tokenResponse: { metadata: { company: 'company' } } };

const bring = ({ id }: OauthConnection, body: object) =>
  service.stack.org.call('POST', `/connections/${id}/tokens`, { body });

const tokenOf = ({ id }: OauthConnection) =>
  service.stack.db
    .selectFrom('tokens')
    .select(['keepAliveAt', 'nonce'])
    .where('connectionId', '=', id)
    .where('slot', '=', '')
    .where('ciphertext', 'is not', null)
    .executeTakeFirst();

const slotsOf = async ({ id }: OauthConnection) =>
  (await service.stack.db.selectFrom('tokens').select('slot').where('connectionId', '=', id).execute()).map(
    ({ slot }) => slot,
  );

/** 31 days pass for the token of a connection. */
async function pass({ id }: OauthConnection): Promise<void> {
  await sql`update tokens set keep_alive_at = keep_alive_at - interval '31 days' where connection_id = ${id}`.execute(
    service.stack.db,
  );
}
