import { describe, expect, it } from 'vitest';
import { changedSpec, put, specDocument } from '../../../../test/support/sync/spec-documents.ts';
import { checkSpec } from './check.ts';
import { type Case, codesAndPaths } from './check-fixture.ts';

const grant = {
  kind: 'oauth2_authorization_code',
  authorizeUrl: 'https://a.test/a',
  tokenUrl: 'https://a.test/t',
  clientId: 'x',
};
const incremental = { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc' };

const structural: readonly Case[] = [
  { rule: 'a missing property', changes: { 'metadata.version': undefined }, issues: ['schema metadata.version'] },
  { rule: 'a missing block', changes: { metadata: undefined }, issues: ['schema metadata'] },
  { rule: 'no resources', changes: { resources: [] }, issues: ['schema resources'] },
  { rule: 'a mistyped property', changes: { 'metadata.name': 5 }, issues: ['schema metadata.name'] },
  { rule: 'a list for an object', changes: { 'http.headers': [] }, issues: ['schema http.headers'] },
  { rule: 'an unknown property', changes: { resorces: [] }, issues: ['schema resorces'] },
  {
    rule: 'several unknown properties of one object',
    changes: { 'resources.0.request.a': 1, 'resources.0.request.b': 2 },
    issues: ['schema resources.0.request.a', 'schema resources.0.request.b'],
  },
  {
    rule: 'a property of another auth kind',
    changes: { auth: { kind: 'oauth2_client_credentials', tokenUrl: 'https://a.test/t', clientSecret: 's' } },
    issues: ['schema auth.clientId'],
  },
  {
    rule: 'a client without a secret that says it has one',
    changes: { auth: grant },
    issues: ['schema auth.clientSecret'],
  },
  {
    rule: 'the same in the auth of a resource',
    changes: { auth: { ...grant, clientAuth: 'none' }, 'resources.0.auth': grant },
    issues: ['schema resources.0.auth.clientSecret'],
  },
  { rule: 'a bad enum value', changes: { 'auth.kind': 'magic' }, issues: ['schema auth.kind'] },
  { rule: 'a bad onInvalid', changes: { 'resources.0.onInvalid': 'x' }, issues: ['schema resources.0.onInvalid'] },
  {
    rule: 'an unknown format version',
    changes: { formatVersion: 2 },
    issues: ['schema formatVersion'],
  },
  {
    rule: 'records that is no plain path',
    changes: { 'resources.0.response.records': 'edges[0].node' },
    issues: ['schema resources.0.response.records'],
  },
  {
    rule: 'a table name of the server',
    changes: { 'resources.0.target.table': 'pg_class' },
    issues: ['schema resources.0.target.table'],
  },
  {
    rule: 'a column name that breaks out',
    changes: { 'resources.0.target.columns': { 'x]; drop table y; --': {} } },
    issues: ['schema resources.0.target.columns.x]; drop table y; --'],
  },
  {
    rule: 'a duration with months',
    changes: { 'resources.0.incremental': { ...incremental, settle: 'P1M' } },
    issues: ['schema resources.0.incremental.settle'],
  },
  {
    rule: 'a time format with an unknown directive',
    changes: { 'resources.0.incremental': { ...incremental, cursor: { ...incremental.cursor, format: '%Y %Q' } } },
    issues: ['schema resources.0.incremental.cursor.format'],
  },
  {
    rule: 'a time format that names a part of a time twice',
    changes: { 'resources.0.incremental': { ...incremental, cursor: { ...incremental.cursor, format: '%F %d' } } },
    issues: ['schema resources.0.incremental.cursor.format'],
  },
  {
    rule: 'a time zone that is none of the IANA database',
    changes: { 'resources.0.incremental': { ...incremental, cursor: { ...incremental.cursor, timezone: '+01:00' } } },
    issues: ['schema resources.0.incremental.cursor.timezone'],
  },
  {
    rule: 'too many resources',
    changes: { resources: Array.from({ length: 201 }, (_, index) => ({ key: `r${index}`, primaryKey: 'id' })) },
    issues: ['schema resources'],
  },
];

describe('checkSpec', () => {
  it.each(['minimal', 'github-issues', 'stripe', 'hubspot-crm'] as const)('accepts the example %s', (name) => {
    expect(checkSpec(specDocument(name))).toMatchObject({ valid: true });
  });

  it.each(structural)('reports $rule, and nothing else', ({ changes, issues }) => {
    expect(codesAndPaths(changedSpec(changes))).toEqual(issues);
  });

  it.each([
    '1.0',
    '01.0.0',
    '1.0.0-01',
    '',
    '^1.0.0',
    '99999999999999999999.0.0',
    '１.0.0',
    1,
    'v1.0.0',
    ' 1.0.0',
    '1.0.0+b',
  ])('refuses the version %s', (version) => {
    expect(codesAndPaths(changedSpec({ 'metadata.version': version }))).toEqual(['schema metadata.version']);
  });

  it.each(['', '..', 'constructor', 'k\u0001', 'ключ', 5, 'a/b', `k${'x'.repeat(63)}`])(
    'refuses the spec key %s',
    (key) => {
      expect(codesAndPaths(changedSpec({ 'metadata.key': key }))).toEqual(['schema metadata.key']);
    },
  );

  it.each(['x]; drop table y; --', '', 't'.repeat(64), 'information_schema.tables', 'sys', '*', 't\u200b', 'PG_x'])(
    'refuses the table name %s',
    (table) => {
      expect(codesAndPaths(changedSpec({ 'resources.0.target.table': table }))).toEqual([
        'schema resources.0.target.table',
      ]);
    },
  );

  it('names the known property nearest to an unknown one', () => {
    expect(checkSpec(changedSpec({ resorces: [] }))).toMatchObject({
      issues: [{ message: 'unknown property `resorces`; did you mean `resources`?' }],
    });
  });

  it.each([
    [
      '%Y-%Q',
      'has the unknown directive "%Q"; use %T, %F or one of: Y, m, d, e, H, I, M, S, b, B, a, A, y, f, p, z, s',
    ],
    ['%d/%m/%Y %', 'has the unknown directive "%"; use'],
    ['%T %H', 'has the directive "%H" twice (%T and %F stand for others)'],
  ])('names the directive that makes the time format %s useless', (format, message) => {
    const cursor = { field: 'at', type: 'datetime', format };
    expect(checkSpec(changedSpec({ 'resources.0.incremental': { ...incremental, cursor } }))).toMatchObject({
      issues: [{ message: expect.stringContaining(message) }],
    });
  });

  it('accepts every directive, and a percent sign as often as it comes', () => {
    const cursor = { field: 'at', type: 'datetime', format: '%a %A %b %B %e %y %I %p %f %z %s %F %T %% %%' };
    expect(checkSpec(changedSpec({ 'resources.0.incremental': { ...incremental, cursor } }))).toMatchObject({
      valid: true,
    });
  });

  it('shows the way round a loop', () => {
    const loop = changedSpec({ 'resources.0.dependsOn': ['notes'], 'resources.1.dependsOn': ['accounts'] });
    expect(checkSpec(loop)).toMatchObject({
      issues: [{ message: 'depends on itself: accounts -> notes -> accounts' }],
    });
  });

  it('reports a key that differs from the one asked for', () => {
    expect(checkSpec(specDocument('minimal'), { expectedKey: 'acme' })).toMatchObject({ valid: true });
    expect(checkSpec(specDocument('minimal'), { expectedKey: 'other' })).toMatchObject({
      issues: [{ code: 'schema', path: 'metadata.key' }],
    });
  });

  it('lists structure first, each part in document order', () => {
    const document = changedSpec({
      'resources.1.key': 'accounts',
      'resources.0.filter': 'a =',
      'resources.0.onInvalid': 'x',
      'metadata.name': 5,
      'connectionParams.1.default': 'x',
    });
    expect(codesAndPaths(document)).toEqual([
      'schema metadata.name',
      'schema resources.0.onInvalid',
      'schema connectionParams.1.default',
      'schema resources.0.filter',
      'duplicate_key resources.1.key',
    ]);
  });

  it('finds duplicates among resources that miss everything else', () => {
    expect(codesAndPaths(changedSpec({ resources: [{ key: 'a' }, { key: 'a' }] }))).toContain(
      'duplicate_key resources.1.key',
    );
  });

  it('reports at most 100 issues', () => {
    const document = changedSpec({});
    for (let index = 0; index < 300; index++) put(document, `unknown${index}`, 1);
    expect(codesAndPaths(document)).toHaveLength(100);
  });

  it('drops orgId and x- names from what is parsed, and only orgId from what is stored', () => {
    const result = checkSpec(changedSpec({ orgId: 'org_x', 'x-note': 1, 'resources.0.x-note': 2 }));
    expect(result).toMatchObject({ valid: true });
    if (!result.valid) return;
    expect(result.document).not.toHaveProperty('orgId');
    expect(result.document).toHaveProperty('x-note', 1);
    expect(result.spec).not.toHaveProperty('x-note');
    expect(result.spec.resources[0]).not.toHaveProperty('x-note');
  });

  it('fills in defaults in the parsed form and leaves the document as it was given', () => {
    const given = changedSpec({ 'resources.0.key': 'big-accounts', 'resources.0.incremental': incremental });
    const result = checkSpec(given);
    if (!result.valid) throw new Error(JSON.stringify(result.issues));
    expect(result.document).toEqual(given);
    expect(result.spec.http).toMatchObject({ timeoutMs: 30_000, retry: { maxAttempts: 6 }, rateLimit: { burst: 10 } });
    expect(result.spec.resources[0]).toMatchObject({
      primaryKey: ['id'],
      pagination: { kind: 'none', maxPages: 10_000 },
      incremental: { settle: 'PT30S', lookback: 'PT0S', cursor: { sendAs: 'iso' } },
      changeDetection: { mode: 'hash', versionGuard: true },
      target: { table: 'big_accounts', mode: 'upsert' },
    });
  });

  it('allows mode update to add to the table of another resource', () => {
    const document = changedSpec({ 'resources.1.target': { table: 'accounts', mode: 'update' } });
    expect(checkSpec(document)).toMatchObject({ valid: true });
  });

  it('never repeats a value in a message', () => {
    const document = changedSpec({
      'auth.token': { s3cret: 's3cret' },
      'connectionParams.1.type': 's3cret',
      'http.retry': 's3cret',
    });
    expect(JSON.stringify(checkSpec(document))).not.toContain('s3cret');
  });
});
