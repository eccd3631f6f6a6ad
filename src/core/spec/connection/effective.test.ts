import { describe, expect, it } from 'vitest';
import { changedSpec, specDocument } from '../../../../test/support/sync/spec-documents.ts';
import { effectiveSpec } from './effective.ts';

const issuesOf = (overrides: unknown, document: unknown = specDocument('minimal')): readonly string[] => {
  const result = effectiveSpec(document, overrides);
  return result.valid ? [] : result.issues.map(({ code, path }) => `${code} ${path}`);
};

describe('effectiveSpec', () => {
  it.each([null, undefined, {}])('is the pinned spec when the overrides are %j', (overrides) => {
    expect(effectiveSpec(specDocument('minimal'), overrides)).toMatchObject({
      valid: true,
      document: specDocument('minimal'),
    });
  });

  it('merges items of a list by their key, appends new ones, and removes on $delete', () => {
    const overrides = {
      resources: [
        { key: 'notes', $delete: true },
        { key: 'accounts', request: { query: { limit: 5 } } },
        { key: 'tasks', primaryKey: 'id', request: { path: '/tasks' } },
      ],
    };
    expect(effectiveSpec(specDocument('minimal'), overrides)).toMatchObject({
      valid: true,
      document: {
        resources: [{ key: 'accounts', request: { path: '/accounts', query: { limit: 5 } } }, { key: 'tasks' }],
      },
    });
  });

  it('merges enrich and forEach by assignTo and as', () => {
    const document = changedSpec({
      'resources.0.forEach': [{ as: 'a', values: 'x' }],
      'resources.0.enrich': [{ assignTo: 'p', request: { path: '/p' }, key: 'record.id' }],
    });
    const change = {
      key: 'accounts',
      forEach: [{ as: 'a', values: 'y' }],
      enrich: [{ assignTo: 'p', onError: 'null' }],
    };
    expect(effectiveSpec(document, { resources: [change] })).toMatchObject({
      valid: true,
      document: {
        resources: [{ forEach: [{ values: 'y' }], enrich: [{ key: 'record.id', onError: 'null' }] }, { key: 'notes' }],
      },
    });
  });

  it('deletes with null, and replaces any other list', () => {
    const document = changedSpec({
      'metadata.tags': ['a'],
      'http.allowedHosts': ['a.test', 'b.test'],
      'http.timeoutMs': 2000,
    });
    expect(effectiveSpec(document, { http: { timeoutMs: null, allowedHosts: ['c.test'] } })).toMatchObject({
      valid: true,
      document: { http: { allowedHosts: ['c.test'] } },
      spec: { http: { timeoutMs: 30_000 } },
    });
  });

  it('leaves the pinned document as it was', () => {
    const document = specDocument('minimal');
    effectiveSpec(document, { resources: [{ key: 'accounts', name: 'x' }], http: { timeoutMs: 5000 } });
    expect(document).toEqual(specDocument('minimal'));
  });

  it.each([
    [{ metadata: { name: 'x' } }, 'schema metadata'],
    [{ auth: { kind: 'none' } }, 'schema auth.kind'],
    [{ auth: null }, 'schema auth.kind'],
    [{ connectionParams: [{ key: 'token', secret: false }] }, 'schema connectionParams.1.secret'],
    [{ connectionParams: [{ key: 'apiUrl', secret: true }] }, 'schema connectionParams.0.secret'],
  ])('refuses to change what is protected: %j', (overrides, issue) => {
    expect(issuesOf(overrides)).toEqual([issue]);
  });

  it('takes an auth block of the same kind', () => {
    expect(issuesOf({ auth: { kind: 'bearer', token: 'v2 {{ secrets.token }}' } })).toEqual([]);
  });

  it('checks the merged spec again', () => {
    expect(issuesOf({ resources: [{ key: 'accounts', transform: '{' }] })).toEqual(['schema resources.0.transform']);
    expect(issuesOf({ resources: [{ key: 'new' }] })).toContain('schema resources.2.primaryKey');
    expect(issuesOf({ resources: null })).toEqual(['schema resources']);
  });

  it.each(['{"__proto__": {"polluted": 1}}', '{"http": {"constructor": {"prototype": {"polluted": 1}}}}', '[]', '"x"'])(
    'refuses %s and pollutes nothing',
    (text) => {
      expect(effectiveSpec(specDocument('minimal'), JSON.parse(text))).toMatchObject({ valid: false });
      expect({}).not.toHaveProperty('polluted');
    },
  );
});
