import { expect, it } from 'vitest';
import { runTerms } from './run-terms.ts';

type Dimension = Readonly<Record<string, unknown>>;

/** What a run of `child` waits for, among these resources. */
const waitsFor = (forEach: Readonly<Record<string, readonly Dimension[]>>): readonly string[] =>
  runTerms({
    specJson: {
      metadata: { key: 'acme', name: 'Acme', version: '1.0.0' },
      http: { baseUrl: 'https://api.example.com' },
      resources: Object.entries(forEach).map(([key, entries]) => ({
        key,
        primaryKey: 'id',
        request: { path: `/${key}` },
        forEach: entries,
        ...(key === 'child' ? { dependsOn: ['other'] } : {}),
      })),
    },
    specOverridesJson: null,
    resourceKey: 'child',
    defaultDestination: { kind: 'postgres' },
    path: 'resource',
  }).waitsFor;

const of = (resource: string, from: 'live' | 'store') => ({ as: resource, resource, from });

it('waits for what it depends on, its parents, and the parents of those that it reads live', () => {
  const rest = { grandparent: [], other: [] };
  expect(waitsFor({ child: [of('parent', 'live')], parent: [of('grandparent', 'store')], ...rest })).toEqual([
    'other',
    'parent',
    'grandparent',
  ]);
  expect(waitsFor({ child: [of('parent', 'store')], parent: [of('grandparent', 'store')], ...rest })).toEqual([
    'other',
    'parent',
  ]);
});

it.each([
  ['a webhook', 'webhook', false],
  ['a table', 'postgres', true],
])('knows from the default destination that records go to %s', (_, kind, expected) => {
  const { keepsRows } = runTerms({
    specJson: {
      metadata: { key: 'acme', name: 'Acme', version: '1.0.0' },
      http: { baseUrl: 'https://api.example.com' },
      resources: [{ key: 'only', primaryKey: 'id', request: { path: '/only' } }],
    },
    specOverridesJson: null,
    resourceKey: 'only',
    defaultDestination: { kind },
    path: 'resource',
  });
  expect(keepsRows).toBe(expected);
});
