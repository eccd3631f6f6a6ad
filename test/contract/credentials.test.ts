/** Each kind of credential opens its own endpoints and no others, in whatever header it comes. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { routes } from '../../src/api/routes/index.ts';
import { caseFigure } from '../support/security/figure.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { createActiveConnection, publishSpec } from '../support/upstream/api-fixtures.ts';

let api: TestApi;
let org: TestOrg;
let credentials: Readonly<Record<'api_key' | 'embed_token' | 'connect_token', string>>;

beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
  await publishSpec(org);
  const connectionId = await createActiveConnection(org);
  const scopes = ['sync', 'pause', 'reauthorize'];
  const embed = await org.call('POST', '/tokens/embed', { body: { connectionId, scopes } });
  const session = await org.call('POST', '/connect-sessions', { body: { connectionId, ask: ['apiKey'] } });
  credentials = { api_key: org.apiKey, embed_token: embed.body.token, connect_token: session.body.token };
});
afterAll(() => api[Symbol.asyncDispose]());

/** Where a credential can stand. */
const placesOf = (credential: string): readonly Readonly<Record<string, string>>[] => [
  { authorization: `Bearer ${credential}` },
  { 'x-api-key': credential },
  { 'x-service-embed-token': credential },
  { 'x-service-connect-token': credential },
  { cookie: `connect_browser=${credential}; console_session=${credential}` },
];

const isOwn = (kind: string, headers: Readonly<Record<string, string>>): boolean =>
  ({
    api_key: 'authorization' in headers || 'x-api-key' in headers,
    embed_token: 'x-service-embed-token' in headers,
    connect_token: 'x-service-connect-token' in headers,
  })[kind] ?? false;

const protectedRoutes = routes.filter(({ auth }) => auth in { api_key: 1, embed_token: 1, connect_token: 1 });

describe('every endpoint with a credential', () => {
  it.each(protectedRoutes.map(({ method, path, auth }) => [`${method} ${path}`, auth] as const))(
    'refuses those of other kinds: %s (%s)',
    async (endpoint, auth) => {
      const [method = '', path = ''] = endpoint.split(' ');
      for (const [kind, credential] of Object.entries(credentials)) {
        for (const headers of placesOf(credential)) {
          if (kind === auth && isOwn(kind, headers)) continue;
          const reply = await org.call(method.toUpperCase(), path.replace(/:\w+/g, 'x'), { apiKey: null, headers });
          caseFigure('confusedCredentials', reply.status !== 401);
          expect({ kind, headers: Object.keys(headers), status: reply.status }).toMatchObject({ status: 401 });
          expect(JSON.stringify(reply.body)).not.toContain(credential);
        }
      }
    },
  );

  it('takes its own', async () => {
    const embed = { 'x-service-embed-token': credentials.embed_token };
    const connect = { 'x-service-connect-token': credentials.connect_token };
    expect((await org.call('GET', '/embed/connection', { apiKey: null, headers: embed })).status).toBe(200);
    expect((await org.call('GET', '/connect', { apiKey: null, headers: connect })).status).toBe(200);
    expect((await org.call('GET', '/connections')).status).toBe(200);
  });
});
