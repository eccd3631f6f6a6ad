import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';

interface Json {
  readonly [property: string]: unknown;
}

/** A spec, as far as tests read it. */
export interface SpecDocument extends Json {
  readonly metadata: { readonly key: string; readonly version: string; readonly [property: string]: unknown };
  readonly resources: readonly (Json & { readonly key: string })[];
}

/** A spec and what a connection of it needs: together with the others it has text in every slot of the schema. */
export interface BaseDocument {
  readonly name: string;
  readonly document: SpecDocument;
  readonly params: Json;
  readonly secrets: Json;
  /** How its runs end before anything is changed. */
  readonly ends: string;
  /** Where texts are changed: paths that begin so. Other parts are those of another document. */
  readonly changed: readonly string[];
}

/** What the fake systems of the documents listen at. */
export interface Addresses {
  readonly api: string;
  readonly database: URL;
  /** A SQL Server that refuses every login. */
  readonly sqlServerPort: number;
  readonly webhook: string;
  readonly webhookSecret: string;
}

/** The response of the fake API to every request, tokens and logins included. */
export const response = {
  data: [{ id: '1', key: 'k', name: 'One', updated_at: '2026-01-02T03:04:05Z', deleted: false, version: 'v1' }],
  next: null,
  total: 1,
  access_token: 'an-access-token',
  refresh_token: 'a-refresh-token',
  token: 'a-session-token',
  expires_in: 3600,
  expires_at: '2030-01-01T00:00:00Z',
  account: 'a',
};

/** Specs that work, one for each kind of what exists in kinds. */
export function baseDocuments(at: Addresses): readonly BaseDocument[] {
  return [...engineDocuments(at), ...authDocuments(at), ...destinationDocuments(at)];
}

/** The first resource is the one to sync. */
function spec(name: string, at: Addresses, parts: Partial<SpecDocument>): SpecDocument {
  return {
    metadata: {
      key: name,
      name,
      version: '1.0.0',
      description: 'A description',
      docsUrl: 'https://docs.example.com/',
      iconUrl: 'https://docs.example.com/icon.svg',
      tags: ['tag'],
    },
    connectionParams: [param('databaseUrl', { secret: true })],
    http: { baseUrl: at.api, ...unlimited },
    resources: [simple('items')],
    destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
    ...parts,
  };
}

const param = (key: string, parts: Json = {}): Json => ({ key, type: 'string', ...parts });
const unlimited = {
  rateLimit: { requests: 1_000_000, perSeconds: 1, maxConcurrent: 8 },
  retry: { maxAttempts: 1, baseMs: 1, maxMs: 1 },
};
const simple = (key: string, parts: Json = {}) => ({
  key,
  primaryKey: 'id',
  request: { path: `/${key}` },
  response: { records: 'data' },
  ...parts,
});
const text = {
  type: 'object',
  properties: { id: { type: 'string' }, name: { type: 'string', description: 'A name' } },
};

function engineDocuments(at: Addresses): readonly BaseDocument[] {
  const engine = (
    name: string,
    resource: Json,
    parts: Json = {},
    values: Partial<BaseDocument> = {},
  ): BaseDocument => ({
    name,
    document: spec(name, at, { resources: [simple('items', resource), simple('parents')], ...parts }),
    params: {},
    secrets: { databaseUrl: at.database.href },
    ends: 'succeeded',
    changed: ['resources'],
    ...values,
  });
  const paging = (kind: string, pagination: Json): BaseDocument =>
    engine(
      `paged-${kind}`,
      { pagination: { kind, stopWhen: '$count(body.data) = 1', ...pagination } },
      {},
      {
        changed: ['resources.0.pagination'],
      },
    );
  const inject = { in: 'query', name: 'at' };
  return [
    engine(
      'whole',
      {
        name: 'Items',
        description: 'All items',
        dependsOn: ['parents'],
        forEach: [
          { as: 'region', values: '{{ ["eu", params.region] }}' },
          { as: 'parent', resource: 'parents', from: 'live', when: 'id != "9"' },
        ],
        request: {
          path: '/items/{{ each.region }}/{{ params.path }}/{{ each.parent.id }}',
          query: { since: '{{ params.list }}', deep: { at: ['x', '{{ run.id }}'] } },
          headers: { 'X-Own': 'own {{ params.header }}' },
          rateLimit: { requests: 100_000, headers: { remaining: 'x-left', reset: 'x-reset' } },
        },
        response: {
          records: 'data',
          map: '$',
          addFields: { added: 'params.region' },
          successWhen: 'body.total = 1',
          total: 'body.total',
        },
        errors: [
          {
            when: { status: [404, '5xx'], expr: 'body.code = "gone"' },
            action: 'retry',
            waitFrom: { header: 'Retry-After', format: 'seconds' },
            message: 'The item is gone',
          },
        ],
        filter: 'id != "8"',
        changeDetection: { mode: 'field', field: 'version', ignore: ['name'], lookups: ['codes'] },
        enrich: [
          {
            assignTo: 'detail',
            request: { url: `${at.api}/details?keys={{ $join(batch.keys, ",") }}` },
            key: 'record.id',
            when: 'record.id != "7"',
            batch: { size: 10, results: 'body.data', keyBy: 'id' },
            select: 'name',
          },
          { assignTo: 'more', request: { path: '/more/{{ record.id }}' }, dependsOn: ['detail'] },
        ],
        transform: '{ "id": id, "name": name, "detail": $lookups.detail, "region": $lookups.codes.k }',
        validate: { schema: text },
        deletes: { mode: 'flag', when: 'deleted' },
        target: { table: 'whole', schema: 'public', columns: { label: { type: 'text', path: 'name' } } },
      },
      {
        connectionParams: [
          param('databaseUrl', { secret: true }),
          param('region', { label: 'Region', description: 'Where', enum: ['eu', 'us'], default: 'eu' }),
          param('path', { pattern: '^[a-z ]*' }),
          param('header', { required: false }),
          param('list', { type: 'string_list', required: false }),
          param('object', { type: 'json', required: false }),
          param('address', { type: 'url' }),
          param('day', { format: 'date', required: false }),
          param('host', { format: 'hostname', required: false }),
        ],
        http: {
          ...unlimited,
          baseUrl: '{{ params.address }}',
          headers: { 'X-Shared': 'shared' },
          query: { shared: 'yes' },
          allowedHosts: ['*.example.com'],
          errors: [{ when: { expr: 'body.failed' }, action: 'fail', message: 'Failed' }],
        },
        lookups: [
          { kind: 'static', assignTo: 'fixed', table: { k: 'v' } },
          {
            kind: 'request',
            assignTo: 'codes',
            request: { path: '/codes' },
            records: 'data',
            keyBy: 'key',
            value: 'name',
            dependsOn: ['fixed'],
          },
        ],
      },
      {
        params: {
          region: 'us',
          path: 'p',
          header: 'h',
          list: ['a', 'b'],
          object: { a: 'b' },
          address: at.api,
          day: '2026-01-01',
          host: 'api.example.com',
        },
        changed: [''],
      },
    ),
    engine(
      'tests',
      {},
      {
        tests: [
          {
            name: 'reads',
            resource: 'items',
            params: { region: 'eu' },
            secrets: { databaseUrl: 'x' },
            watermark: '2026-01-01T00:00:00Z',
            known: ['1'],
            now: '2026-01-01T00:00:00Z',
            mocks: [
              {
                request: {
                  method: 'POST',
                  path: '/items',
                  query: { a: 'b' },
                  headers: { 'X-A': 'b' },
                  body: { a: 'b' },
                },
                respond: { headers: { 'x-a': 'b' }, body: { data: ['x'] } },
              },
            ],
            expect: { watermarkAfter: '2026', delivered: [{ id: '1' }], deleted: ['2'], quarantined: ['3'] },
          },
        ],
        connectionParams: [param('databaseUrl', { secret: true }), param('region', { required: false })],
      },
      { ends: 'refused', changed: ['tests'] },
    ),
    engine('cursor', {
      incremental: {
        kind: 'cursor',
        cursor: { field: 'updated_at', type: 'datetime', timezone: 'Europe/Berlin', format: "yyyy-MM-dd'T'HH:mm:ssX" },
        initial: 'now-P1D',
        order: 'asc',
        settle: 'PT1S',
        lookback: 'PT1S',
        window: { size: 'P1D', overlap: 'PT1S' },
        retention: { maxAge: 'P30D' },
      },
      request: { path: '/cursor', query: { from: '{{ window.from }}', to: '{{ window.to }}' } },
    }),
    engine('token', {
      incremental: { kind: 'token', next: 'body.account', initial: 'first', expired: { expr: 'body.expired' } },
      request: { path: '/token', query: { token: '{{ watermark }}' } },
    }),
    engine('endpoint', {
      deletes: {
        mode: 'endpoint',
        request: { path: '/deleted' },
        key: 'key',
        records: 'data',
        stopWhen: 'true',
      },
    }),
    ...Object.entries({
      json: { json: { a: '{{ params.region }}', b: ['c'] } },
      form: { form: { a: 'b' } },
      text: { text: 'text {{ run.id }}' },
      graphql: { graphql: { query: 'query { items }', variables: { a: 'b' } } },
    }).map(([kind, body]) =>
      engine(
        `body-${kind}`,
        { request: { method: 'POST', path: '/items', body } },
        { connectionParams: [param('databaseUrl', { secret: true }), param('region')] },
        { params: { region: 'eu' }, changed: ['resources.0.request.body'] },
      ),
    ),
    paging('none', {}),
    paging('page', { inject, totalPages: '1' }),
    paging('offset', { inject, size: 10, total: 'body.total' }),
    paging('cursor', { inject: { in: 'header', name: 'X-At' }, next: 'body.next' }),
    paging('next_url', { next: 'body.next' }),
    paging('link_header', { rel: 'next' }),
    paging('keyset', { inject, field: 'id' }),
  ];
}

const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});

function authDocuments(at: Addresses): readonly BaseDocument[] {
  const oauth = {
    tokenUrl: `${at.api}/oauth/token`,
    clientId: 'client',
    clientSecret: '{{ secrets.key }}',
    scopes: ['read', 'write'],
    scopeSeparator: ',',
    tokenResponse: {
      accessToken: 'access_token',
      refreshToken: 'refresh_token',
      expiresIn: 'expires_in',
      metadata: { account: 'account' },
    },
    put: { in: 'header', name: 'Authorization', prefix: 'Bearer ' },
  };
  const kinds: Readonly<Record<string, Json>> = {
    api_key: { in: 'header', name: 'X-Key', value: '{{ secrets.key }}', prefix: 'Key ' },
    basic: { username: '{{ secrets.key }}', password: '{{ secrets.key }}' },
    bearer: { token: '{{ secrets.key }}' },
    headers: { headers: { 'X-A': '{{ secrets.key }}' } },
    oauth2_client_credentials: { ...oauth, params: { audience: 'x' } },
    oauth2_authorization_code: {
      ...oauth,
      authorizeUrl: `${at.api}/oauth/authorize`,
      authorizeParams: { prompt: 'consent' },
      tokenParams: { audience: 'x' },
      refreshUrl: `${at.api}/oauth/refresh`,
      revokeUrl: `${at.api}/oauth/revoke`,
    },
    session: {
      login: { method: 'POST', path: '/login', body: { json: { user: 'u', password: '{{ secrets.key }}' } } },
      tokenFrom: 'body.token',
      expiresFrom: 'body.expires_at',
      put: { in: 'cookie', name: 'session', prefix: '' },
    },
    jwt: {
      algorithm: 'RS256',
      key: '{{ secrets.key }}',
      keyId: 'k1',
      claims: { iss: 'us', deep: { aud: ['them'] } },
      exchange: { tokenUrl: `${at.api}/oauth/token`, params: { audience: 'x' } },
    },
    hmac: {
      algorithm: 'sha256',
      secret: '{{ secrets.key }}',
      stringToSign: '{{ method }}',
      headers: { 'X-Signature': '{{ signature }}' },
    },
  };
  return Object.entries(kinds).map(([kind, block]) => ({
    name: `auth-${kind.replaceAll('_', '-')}`,
    document: spec(`auth-${kind.replaceAll('_', '-')}`, at, {
      auth: { kind, ...block },
      connectionParams: [param('databaseUrl', { secret: true }), param('key', { secret: true })],
    }),
    params: {},
    secrets: { databaseUrl: at.database.href, key: kind === 'jwt' ? privateKey : 'a-secret' },
    // Nobody has agreed to it.
    ends: kind === 'oauth2_authorization_code' ? 'auth_failed' : 'succeeded',
    changed: ['auth'],
  }));
}

const certificate = readFileSync(new URL('../../fixtures/tls/localhost.crt', import.meta.url), 'utf8');

function destinationDocuments(at: Addresses): readonly BaseDocument[] {
  const { database } = at;
  const destination = (kind: string, ends: string, block: Json, name = `to-${kind}`): BaseDocument => ({
    name,
    document: spec(name, at, {
      destination: { kind, ...block },
      connectionParams: [
        param('password', { secret: true }),
        param('host', { required: false }),
        param('port', { type: 'integer', required: false }),
        param('client', { required: false }),
      ],
    }),
    params: { host: database.hostname },
    secrets: { password: kind === 'webhook' ? at.webhookSecret : decodeURIComponent(database.password) || 'none' },
    ends,
    changed: ['destination'],
  });
  return [
    destination('postgres', 'succeeded', {
      host: '{{ params.host }}',
      port: `{{ ${database.port} }}`,
      database: database.pathname.slice(1),
      user: decodeURIComponent(database.username),
      password: '{{ secrets.password }}',
      ssl: 'disable',
      ca: certificate,
      schema: 'public',
    }),
    destination('sqlserver', 'destination_login', {
      host: '127.0.0.1',
      port: `{{ ${at.sqlServerPort} }}`,
      database: 'd',
      user: 'u',
      password: '{{ secrets.password }}',
      encrypt: false,
      ca: certificate,
      schema: 'dbo',
    }),
    // Two of its texts are wrong, so that it never gets as far as the network: a test has nothing to ask Entra ID.
    destination(
      'sqlserver',
      'destination_rejected',
      {
        host: '127.0.0.1',
        database: 'd',
        authentication: {
          kind: 'entra_client_credentials',
          tenantId: 'no tenant',
          clientId: '{{ params.client }}',
          clientSecret: '{{ secrets.password }}',
        },
      },
      'to-sqlserver-by-entra',
    ),
    destination('webhook', 'succeeded', {
      url: at.webhook,
      signingSecret: '{{ secrets.password }}',
      headers: { 'X-Tenant': 'tenant' },
    }),
  ];
}
