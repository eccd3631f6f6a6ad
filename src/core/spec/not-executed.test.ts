import { describe, expect, it } from 'vitest';
import { changedSpec } from '../../../test/support/spec-documents.ts';
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

const login = (request: Readonly<Record<string, unknown>>) => ({
  kind: 'session',
  login: { method: 'POST', path: '/login', ...request },
  tokenFrom: 'body.token',
});

const ttlCached = { path: '/', cache: { mode: 'ttl' } };

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
      'http.rateLimit': { requests: 5, scope: 'org', headers: { remaining: 'x', reset: 'y' } },
      'resources.0.request': {
        path: '/',
        method: 'POST',
        body: { graphql: { query: 'q' } },
        rateLimit: { requests: 1 },
      },
      'resources.0.incremental': { ...incremental, retention: { maxAge: 'P30D' }, resultCap: { records: 9 } },
      'resources.0.pagination': { kind: 'keyset', field: 'id', inject: { in: 'query', name: 'after' } },
      'resources.0.response': {
        decoder: 'csv',
        map: 'a',
        addFields: { region: 'params.apiUrl', since: 'window.from' },
        total: 'total',
      },
      'resources.0.changeDetection': { mode: 'field', field: 'v', ignore: ['a'] },
      'resources.0.validate': { schema: {}, coerce: true, maxInvalidRatio: 0.5 },
      'resources.0.limits': { maxRecords: 5, maxDurationSeconds: 5 },
      'resources.0.transform': '{ "id": id }',
      'resources.0.target': { table: 't', mode: 'append', evolve: 'none', columns: { id: { type: 'text' } } },
    };
    expect(pathsNotExecuted(changedSpec(executed))).toEqual([]);
  });

  it.each([
    ['auth', login({ rateLimit: {} }), 'auth.login.rateLimit'],
    ['resources.0.auth', login({ cache: { mode: 'ttl' } }), 'resources.0.auth.login.cache.mode'],
    ['lookups', [{ kind: 'request', assignTo: 'a', keyBy: 'id', request: ttlCached }], 'lookups.0.request.cache.mode'],
    ['resources.0.enrich', [{ assignTo: 'a', request: ttlCached }], 'resources.0.enrich.0.request.cache.mode'],
  ])('lists %s set to %j', (at, value, path) => {
    expect(pathsNotExecuted(changedSpec({ [at]: value }))).toEqual([path]);
  });

  it('says for each part what to do', () => {
    const result = checkSpec(changedSpec({ auth: login({ rateLimit: {} }) }));
    const messages = result.valid ? partsNotExecuted(result.spec).map(({ message }) => message) : [];
    expect(messages).toContain(
      "a login's own rate limit is not executed by this version yet; remove it or wait for a version that does",
    );
  });
});
