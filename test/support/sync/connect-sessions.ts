import { expect } from 'vitest';
import type { MadeSession } from '../../../src/control/connect-sessions/create-session.ts';
import { type AuditedDestination, openAuditedDestination } from '../destinations/audit.ts';
import { type Reply, startApi, type TestApi, type TestOrg } from '../service/api.ts';
import { testDatabaseUrl } from '../service/database-server.ts';
import { type OauthServer, startOauthServer } from '../upstream/oauth-server.ts';
import { generateRecords, startUpstream, type Upstream } from '../upstream/upstream.ts';

export const goodToken = 'good-token-of-the-customer';

/** A service with an API that takes {@link goodToken}, a provider, and a database of the org. */
export interface ConnectPlace extends AsyncDisposable {
  readonly api: TestApi;
  readonly org: TestOrg;
  readonly upstream: Upstream;
  readonly oauth: OauthServer;
  readonly destination: AuditedDestination;
  /** The body of a new session of a spec with a form. */
  readonly withForm: Readonly<Record<string, unknown>>;
  /** The body of a new session of a spec with consent and PKCE. */
  readonly withConsent: Readonly<Record<string, unknown>>;
  begin(body: object, org?: TestOrg): Promise<MadeSession>;
  /** As the page calls it. */
  as(
    token: string,
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Reply>;
}

export async function openConnectPlace({ publicUrl }: { readonly publicUrl?: string } = {}): Promise<ConnectPlace> {
  const stack = new AsyncDisposableStack();
  const collections = { records: generateRecords(25) };
  const oauth = stack.use(await startOauthServer());
  oauth.sentBack = { realmId: '1' };
  const upstream = stack.use(await startUpstream({ collections, reply: refuseStrangers(oauth) }));
  const destination = stack.use(await openAuditedDestination());
  const allow = [upstream.hostPort, oauth.hostPort, testDatabaseUrl().host].join(',');
  const api = stack.use(await startApi({ allow, ...(publicUrl === undefined ? {} : { publicUrl }) }));
  const org = await api.newOrg();
  for (const document of [formSpec(), consentSpec(oauth)]) {
    await ok(org.call('POST', '/specs', { body: document }));
    await ok(org.call('POST', `/specs/${document.metadata.key}/versions/1.0.0/publish`));
  }
  const fixed = {
    workspaceId: org.workspaceId,
    displayName: 'Acme of Globex',
    params: { apiUrl: upstream.url },
    secrets: { databaseUrl: destination.url },
  };
  return {
    ...{ api, org, upstream, oauth, destination },
    withForm: { ...fixed, specKey: 'with-form' },
    withConsent: { ...fixed, specKey: 'with-consent' },
    begin: async (body, { call } = org) => (await ok(call('POST', '/connect-sessions', { body }))).body,
    as: (token, method, path, body, headers = {}) =>
      org.call(method, path, { apiKey: null, body, headers: { 'x-service-connect-token': token, ...headers } }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function ok(sent: Promise<Reply>): Promise<Reply> {
  const reply = await sent;
  expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(300);
  return reply;
}

const refuseStrangers = (oauth: OauthServer) => (request: { readonly headers: Readonly<Record<string, string>> }) => {
  const token = request.headers['authorization']?.replace(/^Bearer /, '') ?? '';
  return token === goodToken || oauth.isValid(token) ? undefined : { status: 401, body: '{}' };
};

const common = {
  http: { baseUrl: '{{ params.apiUrl }}', retry: { maxAttempts: 1 } },
  resources: [
    {
      key: 'records',
      primaryKey: 'id',
      request: { path: '/cursor/records', query: { per_page: '{{ page.size }}' } },
      response: { records: 'data' },
      pagination: { kind: 'cursor', next: 'body.next_cursor', size: 100, inject: { in: 'query', name: 'cursor' } },
      target: { table: 'records' },
    },
  ],
  destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
};

const fixedParams = [
  { key: 'apiUrl', type: 'url' },
  { key: 'databaseUrl', type: 'string', secret: true, label: 'Database of the org' },
];

const formSpec = () => ({
  metadata: { key: 'with-form', name: 'Acme CRM', version: '1.0.0' },
  connectionParams: [
    ...fixedParams,
    {
      key: 'account',
      type: 'string',
      label: 'Account',
      description: 'The part of your address before .acme.example.',
      example: 'globex',
      format: 'subdomain',
      helpUrl: 'https://help.acme.example/account',
    },
    { key: 'region', type: 'string', label: 'Region', enum: ['eu', 'us'] },
    { key: 'since', type: 'string', label: 'First day', format: 'date', required: false },
    { key: 'token', type: 'string', label: 'API token', secret: true, pattern: '^[a-z-]+$', minLength: 5 },
  ],
  auth: { kind: 'bearer', token: '{{ secrets.token }}' },
  ...common,
});

const consentSpec = (oauth: OauthServer) => ({
  metadata: { key: 'with-consent', name: 'Acme Books', version: '1.0.0' },
  connectionParams: fixedParams,
  auth: {
    kind: 'oauth2_authorization_code',
    authorizeUrl: `${oauth.url}/authorize`,
    tokenUrl: oauth.tokenUrl,
    revokeUrl: `${oauth.url}/revoke`,
    clientId: 'client',
    clientAuth: 'none',
    pkce: true,
    callback: { metadata: { realm: 'realmId' } },
  },
  ...common,
});
