import { describe, expect, it } from 'vitest';
import { changedSpec, specDocument } from '../../../test/support/spec-documents.ts';
import { checkSpec } from './check.ts';
import { partsNotExecuted } from './not-executed.ts';

function pathsNotExecuted(document: unknown): readonly string[] {
  const result = checkSpec(document);
  if (!result.valid) throw new Error(JSON.stringify(result.issues));
  return partsNotExecuted(result.spec).map(({ path }) => path);
}

const incremental = {
  kind: 'cursor',
  cursor: { field: 'at', type: 'datetime' },
  order: 'asc',
  window: { size: 'P1D' },
};

const grant = {
  kind: 'oauth2_authorization_code',
  authorizeUrl: 'https://a.test/a',
  tokenUrl: 'https://a.test/t',
  clientId: 'x',
};
const login = (request: Readonly<Record<string, unknown>>) => ({
  kind: 'session',
  login: { method: 'POST', path: '/login', ...request },
  tokenFrom: 'body.token',
});

describe('partsNotExecuted', () => {
  it('is empty for the parts that run', () => {
    const executed = {
      destination: { kind: 'postgres', url: '{{ secrets.token }}' },
      'http.errors': [
        { when: { status: [403] }, action: 'rate_limited', waitFrom: { header: 'x', format: 'epoch_s' } },
        { when: { status: [419] }, action: 'refresh_auth' },
      ],
      auth: { kind: 'oauth2_client_credentials', tokenUrl: 'https://a.test/t', clientId: 'x', clientSecret: 'y' },
      'resources.0.auth': login({ body: { form: { user: 'x' } } }),
      'http.rateLimit': { requests: 5 },
      'resources.0.incremental': { ...incremental, settle: 'PT1S', lookback: 'PT1H', initial: 'now-P1D' },
      'resources.0.pagination': { kind: 'keyset', field: 'id', inject: { in: 'query', name: 'after' } },
      'resources.0.response': {
        decoder: 'csv',
        map: 'a',
        addFields: { region: 'params.apiUrl', run: '$string(run.id)' },
      },
      'resources.0.changeDetection': { mode: 'none', ignore: ['a'] },
      'resources.0.validate': { schema: {} },
      'resources.0.transform': '{ "id": id }',
      'resources.0.target': { table: 't', evolve: 'none', columns: { id: { type: 'text' } } },
    };
    expect(pathsNotExecuted(changedSpec(executed))).toEqual([]);
  });

  it.each([
    ['auth', grant, 'auth.kind'],
    ['resources.0.auth', grant, 'resources.0.auth.kind'],
    ['auth', login({ rateLimit: {} }), 'auth.login.rateLimit'],
    ['resources.0.auth', login({ cache: { mode: 'ttl' } }), 'resources.0.auth.login.cache.mode'],
    ['http.rateLimit', { headers: { remaining: 'x' } }, 'http.rateLimit.headers'],
    ['http.rateLimit', { scope: 'org' }, 'http.rateLimit.scope'],
    ['lookups', [{ kind: 'static', assignTo: 'a', table: {} }], 'lookups.0'],
    ['resources.0.dependsOn', ['notes'], 'resources.0.dependsOn.0'],
    ['resources.0.forEach', [{ as: 'a', values: 'x' }], 'resources.0.forEach.0'],
    [
      'resources.0.request',
      { path: '/', method: 'POST', body: { graphql: { query: 'q' } } },
      'resources.0.request.body.graphql',
    ],
    ['resources.0.request.rateLimit', {}, 'resources.0.request.rateLimit'],
    ['resources.0.request.cache.mode', 'ttl', 'resources.0.request.cache.mode'],
    ['resources.0.response.addFields.w', 'window.from', 'resources.0.response.addFields.w'],
    ['resources.0.errors', [{ when: { status: [404] }, action: 'skip_partition' }], 'resources.0.errors.0.action'],
    ['resources.0.incremental', { kind: 'token', next: 'body.t' }, 'resources.0.incremental.kind'],
    ['resources.0.changeDetection', { mode: 'field', field: 'v' }, 'resources.0.changeDetection.mode'],
    ['resources.0.enrich', [{ assignTo: 'a', request: { path: '/' } }], 'resources.0.enrich.0'],
    ['resources.0.validate', { schema: {}, coerce: true }, 'resources.0.validate.coerce'],
    ['resources.0.validate', { schema: {}, maxInvalidRatio: 0.5 }, 'resources.0.validate.maxInvalidRatio'],
    ['resources.0.deletes', { mode: 'flag', when: 'gone' }, 'resources.0.deletes.mode'],
    ['resources.0.target.mode', 'append', 'resources.0.target.mode'],
    ['resources.0.limits.maxRecords', 5, 'resources.0.limits.maxRecords'],
    ['resources.0.limits.maxDurationSeconds', 5, 'resources.0.limits.maxDurationSeconds'],
    ['destination', { kind: 'webhook', url: 'https://a.test', signingSecret: 'x' }, 'destination.kind'],
    ['tests', [{ name: 'a', resource: 'accounts', expect: {} }], 'tests.0'],
  ])('lists %s set to %j', (at, value, path) => {
    expect(pathsNotExecuted(changedSpec({ [at]: value }))).toEqual([path]);
  });

  it('says for each part what to do', () => {
    const result = checkSpec(specDocument('stripe'));
    const messages = result.valid ? partsNotExecuted(result.spec).map(({ message }) => message) : [];
    expect(messages).toContain(
      'destination webhook is not executed by this version yet; remove it or wait for a version that does',
    );
  });
});
