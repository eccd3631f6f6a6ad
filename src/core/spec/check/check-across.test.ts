import { describe, expect, it } from 'vitest';
import { changedSpec } from '../../../../test/support/sync/spec-documents.ts';
import type { Case } from '../../../../test/support/sync/structural-cases.ts';
import { codesAndPaths } from './check-fixture.ts';

const application = {
  kind: 'entra_client_credentials',
  tenantId: 't',
  clientId: 'c',
  clientSecret: '{{ secrets.token }}',
};
const incremental = { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc' };

const acrossPlaces: readonly Case[] = [
  {
    rule: 'path and url together',
    changes: { 'resources.0.request.url': 'https://a.test/x' },
    issues: ['schema resources.0.request.url'],
  },
  {
    rule: 'neither path nor url',
    changes: { 'resources.0.request': {} },
    issues: ['schema resources.0.request.path'],
  },
  {
    rule: 'a body with GET',
    changes: { 'resources.0.request.body': { json: {} } },
    issues: ['schema resources.0.request.body'],
  },
  {
    rule: 'two bodies',
    changes: { 'resources.0.request.method': 'POST', 'resources.0.request.body': { json: {}, text: '' } },
    issues: ['schema resources.0.request.body'],
  },
  {
    rule: 'dot segments',
    changes: { 'resources.0.request.path': '/a/%2e%2e/b' },
    issues: ['schema resources.0.request.path'],
  },
  { rule: 'a base URL of another scheme', changes: { 'http.baseUrl': 'file:///etc' }, issues: ['schema http.baseUrl'] },
  {
    rule: 'a base URL that shows its host as the name of a user',
    changes: { 'http.baseUrl': 'http://127.0.0.1:80@example.com/' },
    issues: ['schema http.baseUrl'],
  },
  {
    rule: 'a user name before a host that a template gives',
    changes: { 'resources.0.request': { url: 'https://api:{{ run.id }}@example.com/x' } },
    issues: ['schema resources.0.request.url'],
  },
  ...['evil.co.uk', 'acme.com', '{{ params.host }}.acme.example', '{{ params.host }}.co.uk', '{{ params.host }}'].map(
    (host) => ({
      rule: `a host to which a value could send the secret of an OAuth app: ${host}`,
      changes: {
        connectionParams: [{ key: 'host', type: 'string' }],
        http: { baseUrl: 'https://a.test' },
        auth: {
          ...{ kind: 'oauth2_authorization_code', app: 'acme', authorizeUrl: 'https://a.test/a' },
          tokenUrl: `https://${host}/token`,
        },
      },
      issues: ['{{ params.host }}.co.uk', '{{ params.host }}'].includes(host) ? ['schema auth.tokenUrl'] : [],
    }),
  ),
  {
    rule: 'an account of values that nobody keeps',
    changes: {
      auth: {
        ...{ kind: 'oauth2_authorization_code', tokenUrl: 'https://a.test/t', authorizeUrl: 'https://a.test/a' },
        ...{ clientId: 'c', clientSecret: 's', account: ['realm', 'org'], tokenResponse: { metadata: { org: 'org' } } },
      },
    },
    issues: ['schema auth.account.0'],
  },
  {
    rule: 'an account whose value is a token',
    changes: {
      auth: {
        ...{ kind: 'oauth2_authorization_code', tokenUrl: 'https://a.test/t', authorizeUrl: 'https://a.test/a' },
        ...{ clientId: 'c', clientSecret: 's', account: ['identity', 'org', 'own'] },
        tokenResponse: {
          ...{ accessToken: 'authed_user.access_token' },
          metadata: { identity: 'id_token', org: 'org', own: 'authed_user.access_token' },
        },
      },
    },
    issues: ['schema auth.account.0', 'schema auth.account.2'],
  },
  {
    rule: 'a token URL with a password',
    changes: {
      auth: {
        kind: 'oauth2_client_credentials',
        tokenUrl: 'https://a:b@example.com/',
        clientId: 'c',
        clientSecret: 's',
      },
    },
    issues: ['schema auth.tokenUrl'],
  },
  {
    rule: 'a webhook address with a user name',
    changes: { destination: { kind: 'webhook', url: 'https://a@example.com/', signingSecret: 's' } },
    issues: ['schema destination.url'],
  },
  {
    rule: 'a link for people with a password',
    changes: { 'metadata.docsUrl': 'https://a:b@example.com/' },
    issues: ['schema metadata.docsUrl'],
  },
  {
    rule: 'a base URL with a port that is none',
    changes: { 'http.baseUrl': 'http://127.0.0.1:99999/' },
    issues: ['schema http.baseUrl'],
  },
  { rule: 'a relative path without base URL', changes: { http: {} }, issues: ['schema http.baseUrl'] },
  {
    rule: 'a rule without condition',
    changes: { 'http.errors': [{ when: {}, action: 'fail' }] },
    issues: ['schema http.errors.0.when'],
  },
  {
    rule: 'a secret with a default',
    changes: { 'connectionParams.1.default': 'x' },
    issues: ['schema connectionParams.1.default'],
  },
  {
    rule: 'a default of another type',
    changes: { 'connectionParams.0.default': 5 },
    issues: ['schema connectionParams.0.default'],
  },
  {
    rule: 'a bad regular expression',
    changes: { 'connectionParams.0.pattern': '(' },
    issues: ['schema connectionParams.0.pattern'],
  },
  {
    rule: 'a regular expression that cannot be tried in bounded time',
    changes: { 'connectionParams.0.pattern': '^(?=a)' },
    issues: ['schema connectionParams.0.pattern'],
  },
  {
    rule: 'a record schema that is none',
    changes: { 'resources.0.validate': { schema: { type: 'strnig' } } },
    issues: ['schema resources.0.validate.schema'],
  },
  {
    rule: 'a record schema with a reference that leads out',
    changes: { 'resources.0.validate': { schema: { $ref: 'https://a.test/s.json' } } },
    issues: ['schema resources.0.validate.schema'],
  },
  {
    rule: 'an x-type that is no column type',
    changes: { 'resources.0.validate': { schema: { properties: { a: { 'x-type': 'numeric(99,1)' } } } } },
    issues: ['schema resources.0.validate.schema.properties.a.x-type'],
  },
  {
    rule: 'a lookback in numbers for times',
    changes: { 'resources.0.incremental': { ...incremental, lookback: 5 } },
    issues: ['schema resources.0.incremental.lookback'],
  },
  {
    rule: 'full_scan with incremental',
    changes: { 'resources.0.incremental': incremental, 'resources.0.deletes': { mode: 'full_scan' } },
    issues: ['schema resources.0.deletes.mode'],
  },
  {
    rule: 'replace with incremental',
    changes: { 'resources.0.incremental': incremental, 'resources.0.target.mode': 'replace' },
    issues: ['schema resources.0.target.mode'],
  },
  {
    rule: 'replace at a webhook',
    changes: {
      destination: { kind: 'webhook', url: 'https://a.test', signingSecret: 'x' },
      'resources.0.target.mode': 'replace',
    },
    issues: ['schema resources.0.target.mode'],
  },
  {
    rule: 'a refusal that fails the run at a webhook',
    changes: {
      destination: { kind: 'webhook', url: 'https://a.test', signingSecret: 'x' },
      'resources.0.target.onTypeConflict': 'fail',
    },
    issues: ['schema resources.0.target.onTypeConflict'],
  },
  ...[0, 5, 1.5, '2'].map((parallelism) => ({
    rule: `parallelism ${JSON.stringify(parallelism)} at a webhook`,
    changes: { destination: { kind: 'webhook', url: 'https://a.test', signingSecret: 'x', parallelism } },
    issues: ['schema destination.parallelism'],
  })),
  {
    rule: 'a * in a body of XML',
    changes: {
      'resources.0.response': { decoder: 'xml', records: 'rows.row.*' },
      'resources.0.deletes': { mode: 'endpoint', request: { path: '/x' }, key: 'id', records: '*' },
    },
    issues: ['schema resources.0.response.records', 'schema resources.0.deletes.records'],
  },
  {
    rule: 'resultCap without window',
    changes: {
      'resources.0.incremental': { ...incremental, resultCap: { records: 10 } },
      'resources.0.response.total': 'n',
    },
    issues: ['schema resources.0.incremental.resultCap'],
  },
  {
    rule: 'a cursor without field and window',
    changes: { 'resources.0.incremental': { ...incremental, cursor: { type: 'datetime' } } },
    issues: ['schema resources.0.incremental.cursor.field'],
  },
  {
    rule: 'a start before now that is no duration',
    changes: { 'resources.0.incremental': { ...incremental, initial: 'now-1 day' } },
    issues: ['schema resources.0.incremental.initial'],
  },
  {
    rule: 'forEach with values and resource',
    changes: { 'resources.1.forEach': [{ as: 'a', values: '{{ params.apiUrl }}', resource: 'accounts' }] },
    issues: ['schema resources.1.forEach.0'],
  },
  {
    rule: 'a batch without key',
    changes: {
      'resources.0.enrich': [{ assignTo: 'a', request: { path: '/p' }, batch: { size: 2, results: 'r', keyBy: 'id' } }],
    },
    issues: ['schema resources.0.enrich.0.key'],
  },
  {
    rule: 'an address and its parts',
    changes: { destination: { kind: 'postgres', url: '{{ secrets.token }}', host: 'h' } },
    issues: ['schema destination.host'],
  },
  {
    rule: 'a SQL Server without a user',
    changes: { destination: { kind: 'sqlserver', host: 'h', database: 'd' } },
    issues: ['schema destination.user', 'schema destination.password'],
  },
  {
    rule: 'a SQL Server with a user and an application of Entra ID',
    changes: { destination: { kind: 'sqlserver', host: 'h', database: 'd', user: 'u', authentication: application } },
    issues: ['schema destination.user'],
  },
  {
    rule: 'a token of Entra ID in plain text',
    changes: {
      destination: { kind: 'sqlserver', host: 'h', database: 'd', encrypt: false, authentication: application },
    },
    issues: ['schema destination.encrypt'],
  },
  {
    rule: 'an application of Entra ID whose secret would go elsewhere',
    changes: {
      destination: {
        ...{ kind: 'sqlserver', host: 'h', database: 'd' },
        authentication: { ...application, authorityHost: 'login.evil.test' },
      },
    },
    issues: ['schema destination.authentication.authorityHost'],
  },
  {
    rule: 'encryption of a kind that there is not',
    changes: {
      destination: { kind: 'sqlserver', host: 'h', database: 'd', user: 'u', password: 'p', encrypt: 'maybe' },
    },
    issues: ['schema destination.encrypt'],
  },
  {
    rule: 'a destination without address',
    changes: { destination: { kind: 'postgres' } },
    issues: ['schema destination.url'],
  },
];

describe('checkSpec', () => {
  it.each(acrossPlaces)('reports $rule, and nothing else', ({ changes, issues }) => {
    expect(codesAndPaths(changedSpec(changes))).toEqual(issues);
  });
});
