import { describe, expect, it } from 'vitest';
import { seededFractions } from '../../../test/support/random/seeded.ts';
import { changedSpec, specDocument } from '../../../test/support/sync/spec-documents.ts';
import { cpuMsOf } from '../work/effort-fixture.ts';
import { checkSpec } from './check/check.ts';
import { effectiveSpec } from './connection/effective.ts';

const strange: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  '',
  '$',
  '{{',
  '{{ secrets.x }}',
  '{{{ each.x }}}',
  'a.%.%',
  '\ud800',
  'x'.repeat(300),
  [],
  [[]],
  {},
  [null],
  { key: null },
  { kind: 'cursor' },
  { kind: 'static' },
  { assignTo: 'a' },
  { as: 1 },
  'now-',
  '(',
];

/** Replaces, removes or doubles one value somewhere in the document. */
function mutate(value: unknown, random: () => number): unknown {
  const pick = () => strange[Math.floor(random() * strange.length)];
  if (typeof value !== 'object' || value === null || random() < 0.05) return pick();
  const entries = Object.entries(value);
  const at = Math.floor(random() * entries.length);
  const [key, child] = entries[at] ?? ['added', null];
  const changed = random() < 0.05 ? [] : [[key, mutate(child, random)]];
  if (Array.isArray(value))
    return [...value.slice(0, at), ...changed.map(([, item]) => item), ...value.slice(random() < 0.2 ? at : at + 1)];
  return Object.fromEntries([...entries.filter(([name]) => name !== key), ...changed]);
}

describe('hostile documents', () => {
  it.each(['minimal', 'github-issues', 'stripe', 'hubspot-crm'] as const)(
    'never make the check of %s throw',
    (name) => {
      const random = seededFractions(name.length);
      let refused = 0;
      for (let round = 0; round < 150; round++) {
        let document: unknown = specDocument(name);
        for (let change = 0; change <= round % 3; change++) document = mutate(document, random);
        if (!checkSpec(document).valid) refused += 1;
        expect(effectiveSpec(specDocument(name), document)).toHaveProperty('valid');
      }
      expect(refused).toBeGreaterThan(50);
    },
  );

  it.each([null, undefined, 5, 'x', [], () => 1, 1n, Symbol('x'), new Map(), Number.NaN])('refuses %s', (document) => {
    expect(checkSpec(document)).toMatchObject({ valid: false });
  });

  it('refuses a document that contains itself', () => {
    const document: Record<string, unknown> = {};
    document['metadata'] = document;
    expect(checkSpec(document)).toMatchObject({ valid: false, issues: [{ code: 'schema' }] });
  });

  it.each(['__proto__', 'constructor', 'prototype'])('refuses the key %s wherever it stands', (key) => {
    const nested = JSON.parse(`{"${key}": {"polluted": 1}}`);
    expect(checkSpec(nested)).toMatchObject({ valid: false, issues: [{ path: '' }] });
    expect(checkSpec(changedSpec({ 'resources.0.request.query': { ok: 1 } }))).toMatchObject({ valid: true });
    const document = specDocument('minimal');
    Object.assign(document, { http: { baseUrl: 'https://a.test', query: nested } });
    expect(checkSpec(document)).toMatchObject({ valid: false, issues: [{ code: 'schema', path: 'http.query' }] });
    expect({}).not.toHaveProperty('polluted');
  });

  it('refuses deep nesting', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 50_000; level++) deep = [deep];
    const document = { ...specDocument('minimal'), 'x-deep': deep };
    expect(checkSpec(document)).toMatchObject({ valid: false, issues: [{ message: 'nests deeper than 64 levels' }] });
  });

  it.each([
    [
      'a chain of resources',
      'resources',
      (index: number) => ({ key: `r${index}`, primaryKey: 'id', dependsOn: [`r${index + 1}`] }),
    ],
    ['a mass of empty resources', 'resources', () => ({})],
    ['a mass of lookups', 'lookups', (index: number) => ({ assignTo: `l${index}`, kind: 'static', table: {} })],
    ['a mass of broken params', 'connectionParams', () => 5],
  ])('returns fast for %s', (_, key, item) => {
    const items = Array.from({ length: 20_000 }, (__, index) => item(index));
    const cpuMs = cpuMsOf(() => {
      expect(checkSpec({ ...specDocument('minimal'), [key]: items })).toMatchObject({ valid: false });
    });
    expect(cpuMs).toBeLessThan(2000);
  });

  it('returns fast for 200 resources in one chain', () => {
    const resources = Array.from({ length: 200 }, (_, index) => ({
      key: `r${index}`,
      primaryKey: 'id',
      request: { path: '/x' },
      dependsOn: Array.from({ length: 199 - index }, (__, next) => `r${index + next + 1}`),
    }));
    const cpuMs = cpuMsOf(() => {
      expect(checkSpec({ ...specDocument('minimal'), resources })).toMatchObject({ valid: true });
    });
    expect(cpuMs).toBeLessThan(2000);
  });

  it('returns fast for 200 params whose patterns backtrack without end', () => {
    const slow = { type: 'string', pattern: '^(a+)+$', default: `${'a'.repeat(60)}!` };
    const connectionParams = Array.from({ length: 200 }, (_, index) => ({ key: `p${index}`, ...slow }));
    const cpuMs = cpuMsOf(() => {
      expect(checkSpec({ ...specDocument('minimal'), connectionParams })).toMatchObject({ valid: false });
    });
    expect(cpuMs).toBeLessThan(2000);
  });

  it.each([
    [
      '60,000 different holes',
      Array.from({ length: 60_000 }, (_, index) => `{{ a${index} }}`)
        .join('')
        .slice(0, 65_000),
    ],
    ['a hole that never closes', `{{ (${'a;'.repeat(30_000)}${'"}}" & '.repeat(500)}`],
    ['braces alone', '{'.repeat(65_000)],
  ])('returns fast for 15 templates of %s', (_, template) => {
    const query = Object.fromEntries(
      Array.from({ length: 15 }, (__, index) => [`q${index}`, `${index}${template}`.slice(0, 65_000)]),
    );
    const cpuMs = cpuMsOf(() => {
      expect(checkSpec(changedSpec({ 'resources.0.request.query': query }))).toMatchObject({ valid: false });
    });
    expect(cpuMs).toBeLessThan(5000);
  });

  it('returns fast for 60,000 unknown properties', () => {
    const unknown = Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`resource${index}`, 1]));
    const cpuMs = cpuMsOf(() => {
      expect(checkSpec({ ...specDocument('minimal'), ...unknown })).toMatchObject({ valid: false });
    });
    expect(cpuMs).toBeLessThan(2000);
  });
});
