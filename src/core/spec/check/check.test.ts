import { describe, expect, it } from 'vitest';
import { changedSpec, put, specDocument } from '../../../../test/support/sync/spec-documents.ts';
import { incremental, refusedTexts, structural } from '../../../../test/support/sync/structural-cases.ts';
import { checkSpec } from './check.ts';
import { codesAndPaths } from './check-fixture.ts';

describe('checkSpec', () => {
  it.each(['minimal', 'github-issues', 'stripe', 'hubspot-crm'] as const)('accepts the example %s', (name) => {
    expect(checkSpec(specDocument(name))).toMatchObject({ valid: true });
  });

  it.each(structural)('reports $rule, and nothing else', ({ changes, issues }) => {
    expect(codesAndPaths(changedSpec(changes))).toEqual(issues);
  });

  it.each(refusedTexts)('refuses texts that cannot be at $path', ({ path, values }) => {
    for (const value of values)
      expect([value, codesAndPaths(changedSpec({ [path]: value }))]).toEqual([value, [`schema ${path}`]]);
  });

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

  it('reports a key that differs from the requested one', () => {
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

  it('refuses deletes there, since the rows are not its own; a version that was published before is still run', () => {
    const document = changedSpec({
      'resources.1.target': { table: 'accounts', mode: 'update' },
      'resources.1.deletes': { mode: 'flag', when: 'gone', effect: 'hard' },
    });
    expect(checkSpec(document)).toMatchObject({
      valid: false,
      issues: [{ path: 'resources.1.deletes.mode', message: expect.stringContaining('give that one the deletes') }],
    });
    expect(checkSpec(document, { isPublished: true })).toMatchObject({ valid: true });
  });

  it('refuses a filter of the clock beside a cursor; a version that was published before is still run', () => {
    const byTime = { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'none' };
    const document = changedSpec({ 'resources.0.incremental': byTime, 'resources.0.filter': 'at <= $now()' });
    expect(checkSpec(document)).toMatchObject({ valid: false, issues: [{ path: 'resources.0.filter' }] });
    expect(checkSpec(document, { isPublished: true })).toMatchObject({ valid: true });
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
