import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createPayloadCodec } from '../../src/core/crypto/payload-codec.ts';
import { dumpTables, echoesOf, searchForSecrets } from '../support/security/planted-secrets.ts';
import { eventually } from '../support/service/eventually.ts';
import { changePayloads } from '../support/service/payloads.ts';
import {
  authorizationCode,
  type OauthService,
  recordCount,
  specOf,
  startOauthService,
} from '../support/sync/oauth-service.ts';
import { recordedEvents, typesOf } from '../support/webhooks/events.ts';

const secret = 'app/s3cret+of:Grüße=org & "all"';
let service: OauthService;

beforeAll(async () => {
  service = await startOauthService();
});
beforeEach(() => {
  service.reply = () => undefined;
});
afterEach(({ task }) => {
  if (task.result?.state === 'fail') process.stderr.write(`${service.stack.tails()}\n`);
});
afterAll(() => service[Symbol.asyncDispose]());

describe('an OAuth app of an org', () => {
  it('is the client of connections that have none, and its new secret counts in a run under way', async () => {
    const { oauth, upstream, ask, connect } = service;
    const app = await createApp('shared');
    expect(app).toMatchObject({ key: 'shared', workspaceKind: null, hasSecret: true, connectionsToAuthorize: 0 });
    const connection = await connect(byApp('shared'));
    await connection.authorize();
    expect(lastClient()).toBe(basic(secret));

    const fourth = upstream.hold(upstream.journal.length + 4);
    const run = connection.sync();
    await fourth.reached;
    await ask('PATCH', `/oauth-apps/${app.id}`, { clientSecret: 'the-next-one' });
    oauth.revokeAll();
    fourth.release();
    expect(await run).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: recordCount } });
    expect(lastClient()).toBe(basic('the-next-one'));
  });

  it('of the kind of the workspace counts before the one of all kinds', async () => {
    const { ask, connect, stack } = service;
    const general = await createApp('kinds');
    const staging = (await ask('POST', '/workspaces', { name: 'Staging', kind: 'staging' })).id;
    const [prod, other] = [await connect(byApp('kinds')), await connect(byApp('kinds'), { workspaceId: staging })];
    await other.authorize();
    const own = { key: 'kinds', workspaceKind: 'staging', clientId: 'staging-client', clientSecret: 'of-staging' };

    const refused = await stack.org.call('POST', '/oauth-apps', { body: own });
    expect(refused).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('1 connection is') } },
    });
    expect(await ask('POST', '/oauth-apps', { ...own, allowReauthorization: true })).toMatchObject({
      connectionsToAuthorize: 1,
    });

    await prod.authorize();
    expect(lastClient()).toBe(basic(secret));
    await other.authorize();
    expect(lastClient()).toBe(basic('of-staging', 'staging-client'));
    expect(await stack.org.call('DELETE', `/oauth-apps/${general.id}`)).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('1 connection uses') } },
    });
    const twice = await stack.org.call('POST', '/oauth-apps', { body: own });
    expect(twice.status).toBe(409);
  });

  it('is deleted once no connection uses it', async () => {
    const { ask, connect, stack, upstream } = service;
    const app = await createApp('deleted');
    const first = await connect(byApp('deleted'));
    const second = await connect(byApp('deleted'));
    const remove = () => stack.org.call('DELETE', `/oauth-apps/${app.id}`);
    expect(await remove()).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('2 connections use') } },
    });
    await ask('DELETE', `/connections/${first.id}`);
    const own = authorizationCode(service.oauth, { clientId: 'client', clientAuth: 'none' });
    await ask('POST', '/specs', specOf({ specKey: second.specKey, version: '2.0.0', auth: own, upstream }));
    await ask('POST', `/specs/${second.specKey}/versions/2.0.0/publish`);
    await ask('POST', `/connections/${second.id}/upgrade-spec`, { toVersion: '2.0.0' });
    expect(await remove()).toMatchObject({ status: 200, body: { deleted: true } });
    expect((await stack.org.call('GET', `/oauth-apps/${app.id}`)).status).toBe(404);
  });

  it('gets another client id only if the org agrees that customers authorize again', async () => {
    const { ask, connect, stack } = service;
    const app = await createApp('another');
    const connection = await connect(byApp('another'));
    await connection.authorize();
    const change = (body: object) => stack.org.call('PATCH', `/oauth-apps/${app.id}`, { body });
    expect((await change({ clientId: 'another' })).status).toBe(409);
    expect((await ask('GET', `/oauth-apps/${app.id}`)).clientId).toBe('client');
    const agreed = await change({ clientId: 'another', allowReauthorization: true });
    expect(agreed).toMatchObject({ status: 200, body: { clientId: 'another', connectionsToAuthorize: 1 } });
    const run = await connection.sync();
    expect(run).toMatchObject({ status: 'failed', error: { code: 'auth_failed' } });
    expect(typesOf(await eventsOf(connection.id))).toContain('connection.reauth_required');
  });

  it('that is missing stops the authorization and the run, and is no matter of the customer', async () => {
    const { ask, connect, stack } = service;
    const connection = await connect(byApp('missing'));
    const refused = await stack.org.call('GET', `/oauth/${connection.id}/authorize`);
    expect(refused).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringMatching(/no OAuth app "missing".*POST \/api\/v1\/oauth-apps/) } },
    });
    await ask('POST', `/connections/${connection.id}/activate`);
    const run = await connection.sync();
    expect(run).toMatchObject({ status: 'failed', error: { code: 'auth_failed' } });
    expect(run.error?.message).toContain('POST /api/v1/oauth-apps');
    const types = typesOf(await eventsOf(connection.id));
    expect(types).toContain('connection.error');
    expect(types).not.toContain('connection.reauth_required');

    await createApp('missing');
    await connection.authorize();
    expect(await connection.sync()).toMatchObject({ status: 'succeeded' });
  });

  it('with a wrong secret is mended by a PATCH: its connections in error are tested at once', async () => {
    const { oauth, ask, connect } = service;
    const app = await createApp('wrong');
    const connection = await connect(byApp('wrong'));
    await connection.authorize();
    oauth.reply = ({ authorization }) =>
      authorization === basic(secret) ? { status: 401, body: { error: 'invalid_client' } } : undefined;
    oauth.revokeAll();
    const run = await connection.sync();
    expect(run.error).toMatchObject({ code: 'auth_failed', message: expect.stringContaining('OAuth app "wrong"') });
    expect((await connection.read()).status).toBe('error');
    await ask('PATCH', `/oauth-apps/${app.id}`, { clientSecret: 'the-right-one' });
    await eventually('it is active again', async () => (await connection.read()).status === 'active');
    oauth.reply = () => undefined;
  });

  it('of another org is never seen', async () => {
    const { connect, stack, ask } = service;
    const app = await createApp('theirs');
    const stranger = await stack.newOrg();
    const connection = await connect(byApp('theirs'), { org: stranger });
    expect((await stranger.call('GET', `/oauth/${connection.id}/authorize`)).status).toBe(409);
    expect((await stranger.call('GET', '/oauth-apps')).body).toEqual([]);
    for (const [method, body] of [['GET'], ['PATCH', { clientSecret: 'mine' }], ['DELETE']] as const) {
      expect((await stranger.call(method, `/oauth-apps/${app.id}`, { body })).status).toBe(404);
    }
    await ask('POST', '/oauth-apps', { key: 'theirs', clientId: 'strange' }, stranger);
    expect((await ask('GET', `/oauth-apps/${app.id}`)).clientId).toBe('client');
  });

  it('takes over a connection of today with the same client id, which keeps its grant', async () => {
    const { oauth, upstream, ask, connect } = service;
    const own = authorizationCode(oauth, { clientId: 'client', clientSecret: '{{ secrets.clientSecret }}' });
    const connection = await connect(own, { secrets: { clientSecret: 'of-the-connection' } });
    await connection.authorize();
    await createApp('moved');
    const { specKey } = connection;
    await ask('POST', '/specs', specOf({ specKey, version: '2.0.0', auth: byApp('moved'), upstream }));
    await ask('POST', `/specs/${specKey}/versions/2.0.0/publish`);
    expect(await ask('POST', `/connections/${connection.id}/upgrade-spec`, { toVersion: '2.0.0' })).toMatchObject({
      applied: true,
    });
    oauth.revokeAll();
    expect(await connection.sync()).toMatchObject({ status: 'succeeded' });
    expect(lastClient()).toBe(basic(secret));
  });

  it('shows its secret in no response, log, event, table or history, whatever the API sends back', async () => {
    const { oauth, ask, connect, stack } = service;
    await createApp('planted');
    const connection = await connect(byApp('planted', { tokenResponse: { metadata: { echo: 'echo' } } }));
    await connection.authorize();
    const echoes = echoesOf(secret);
    let nth = 0;
    service.reply = () => {
      nth += 1;
      const id = nth === 2 ? null : nth;
      if (nth > 3) return { status: 400, body: JSON.stringify({ error: echoes }) };
      const page = { data: [{ id, echoes }], next_cursor: `${nth} ${secret}` };
      return { headers: { 'x-echo': encodeURIComponent(secret) }, body: JSON.stringify(page) };
    };
    const run = await connection.sync();
    expect(run.status).toBe('failed');
    oauth.reply = () => ({ status: 400, body: { error: 'invalid_client', error_description: echoes.join(' ') } });
    oauth.revokeAll();
    service.reply = () => undefined;
    await connection.sync();
    oauth.reply = () => undefined;
    const test = await stack.org.call('POST', `/connections/${connection.id}/test`);
    const calls = async ({ id }: { readonly id: string }) => JSON.stringify(await ask('GET', `/runs/${id}/calls`));
    const runs: readonly { readonly id: string }[] = await ask('GET', `/runs?connectionId=${connection.id}`);
    const places = {
      apps: JSON.stringify(await ask('GET', '/oauth-apps')),
      connection: JSON.stringify(await connection.read()),
      test: JSON.stringify(test.body),
      runs: JSON.stringify(runs),
      calls: (await Promise.all(runs.map(calls))).join('\n'),
      quarantine: JSON.stringify(await ask('GET', `/quarantine?connectionId=${connection.id}`)),
      logs: stack.tails(),
      tables: await dumpTables(stack),
      histories: await histories(connection.id),
    };
    expect(runs).toHaveLength(2);
    expect(places.tables).toContain(connection.id);
    expect(places.histories).toContain(connection.id);
    expect(places.calls).toContain('[redacted]');
    expect(searchForSecrets(places, { appSecret: secret })).toEqual([]);
  });
});

describe('a spec that names an OAuth app', () => {
  it.each([
    ['a client id of its own', { clientId: 'client' }, 'auth.clientId'],
    ['a secret of its own', { clientSecret: '{{ secrets.databaseUrl }}' }, 'auth.clientSecret'],
    ['a token URL that a customer decides', { tokenUrl: 'https://{{ params.host }}/token' }, 'auth.tokenUrl'],
    ['a host whose end is one label', { tokenUrl: 'https://{{ params.host }}.example/token' }, 'auth.tokenUrl'],
    ['a refresh URL of a customer', { refreshUrl: '{{ params.host }}/refresh' }, 'auth.refreshUrl'],
    ['a revocation URL of a customer', { revokeUrl: 'https://a.example@{{ params.host }}' }, 'auth.revokeUrl'],
    ['a keep-alive of a second', { refresh: { keepAlive: 'PT1S' } }, 'auth.refresh.keepAlive'],
    ['a keep-alive of ten years', { refresh: { keepAlive: 'P3650D' } }, 'auth.refresh.keepAlive'],
  ])('is refused with %s', async (_, changes, path) => {
    const { stack, upstream } = service;
    const auth = byApp('refused', changes);
    const { body } = await stack.org.call('POST', '/specs/refused/validate', {
      body: specOf({ specKey: 'refused', auth, upstream }),
    });
    expect(body.valid).toBe(false);
    expect(body.issues.map((issue: { readonly path: string }) => issue.path)).toContain(path);
  });

  it('may have a host whose end is text', async () => {
    const { stack, upstream } = service;
    const auth = byApp('fixed', { tokenUrl: 'https://{{ $string(1) }}.acme.example/token' });
    const { body } = await stack.org.call('POST', '/specs/fixed/validate', {
      body: specOf({ specKey: 'fixed', auth, upstream }),
    });
    expect(body).toMatchObject({ valid: true });
  });
});

const createApp = (key: string) =>
  service.ask('POST', '/oauth-apps', { key, clientId: 'client', clientSecret: secret });

const byApp = (app: string, changes: object = {}) => authorizationCode(service.oauth, { app, ...changes });

const lastClient = () => service.oauth.requests.at(-1)?.authorization;

const basic = (clientSecret: string, clientId = 'client') => {
  const coded = new URLSearchParams({ v: clientSecret }).toString().slice(2);
  return `Basic ${Buffer.from(`${clientId}:${coded}`).toString('base64')}`;
};

const eventsOf = (connectionId: string) =>
  recordedEvents(service.stack.db, { orgId: service.stack.org.orgId, connectionId });

/** Histories of the runs of a connection, decrypted. */
async function histories(connectionId: string): Promise<string> {
  const { db, temporal, keyRing } = service.stack;
  const runs = await db
    .selectFrom('runs')
    .select(['id', 'resourceKey'])
    .where('connectionId', '=', connectionId)
    .execute();
  const texts = runs.map(async ({ id, resourceKey }) => {
    const handle = temporal.client.workflow.getHandle(`sync:${connectionId}:${resourceKey}:${id}`);
    const history = await changePayloads(await handle.fetchHistory(), createPayloadCodec(keyRing).decode);
    return JSON.stringify(history, (_, value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString() : typeof value === 'bigint' ? String(value) : value,
    );
  });
  return (await Promise.all(texts)).join('\n');
}
