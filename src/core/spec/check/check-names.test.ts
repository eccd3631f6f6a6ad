import { describe, expect, it } from 'vitest';
import { changedSpec } from '../../../../test/support/sync/spec-documents.ts';
import type { Case } from '../../../../test/support/sync/structural-cases.ts';
import { codesAndPaths } from './check-fixture.ts';

const request = { kind: 'request', request: { path: '/t' }, keyBy: 'id' };
const step = (assignTo: string, more = {}) => ({ assignTo, request: { path: '/p' }, key: 'record.id', ...more });

const names: readonly Case[] = [
  {
    rule: 'a resource key twice',
    changes: { 'resources.1.key': 'accounts' },
    issues: ['duplicate_key resources.1.key'],
  },
  {
    rule: 'a param key twice',
    changes: { 'connectionParams.2': { key: 'apiUrl', type: 'string' } },
    issues: ['duplicate_key connectionParams.2.key'],
  },
  {
    rule: 'a table written twice',
    changes: { 'resources.1.target.table': 'ACCOUNTS' },
    issues: ['duplicate_key resources.1.target.table'],
  },
  {
    rule: 'a table written twice by default',
    changes: { 'resources.0.target.table': 'notes' },
    issues: ['duplicate_key resources.1.key'],
  },
  {
    rule: 'a lookup name twice',
    changes: {
      lookups: [
        { assignTo: 'a', kind: 'static', table: {} },
        { assignTo: 'a', kind: 'static', table: {} },
      ],
    },
    issues: ['duplicate_assign_to lookups.1.assignTo'],
  },
  {
    rule: 'an enrichment name twice',
    changes: { 'resources.0.enrich': [step('a'), step('a')] },
    issues: ['duplicate_assign_to resources.0.enrich.1.assignTo'],
  },
  {
    rule: 'an enrichment named like a lookup',
    changes: { lookups: [{ assignTo: 'a', kind: 'static', table: {} }], 'resources.0.enrich': [step('a')] },
    issues: ['duplicate_assign_to resources.0.enrich.0.assignTo'],
  },
  {
    rule: 'as twice',
    changes: {
      'resources.0.forEach': [
        { as: 'a', values: 'x' },
        { as: 'a', values: 'x' },
      ],
    },
    issues: ['duplicate_assign_to resources.0.forEach.1.as'],
  },
  {
    rule: 'a resource that depends on nothing known',
    changes: { 'resources.0.dependsOn': ['no'] },
    issues: ['unresolved_dependency resources.0.dependsOn.0'],
  },
  {
    rule: 'an enrichment that depends on nothing known',
    changes: { 'resources.0.enrich': [step('a', { dependsOn: ['no'] })] },
    issues: ['unresolved_dependency resources.0.enrich.0.dependsOn.0'],
  },
  {
    rule: 'a lookup that depends on nothing known',
    changes: { lookups: [{ assignTo: 'a', ...request, dependsOn: ['no'] }] },
    issues: ['unresolved_dependency lookups.0.dependsOn.0'],
  },
  {
    rule: 'forEach over an unknown resource',
    changes: { 'resources.0.forEach': [{ as: 'a', resource: 'no' }] },
    issues: ['unresolved_dependency resources.0.forEach.0.resource'],
  },
  {
    rule: 'an unknown lookup in change detection',
    changes: { 'resources.0.changeDetection.lookups': ['no'] },
    issues: ['unresolved_dependency resources.0.changeDetection.lookups.0'],
  },
  {
    rule: 'an enrichment that depends on itself',
    changes: { 'resources.0.enrich': [step('a', { dependsOn: ['a'] })] },
    issues: ['cycle resources.0.enrich.0.dependsOn.0'],
  },
  {
    rule: 'an enrichment loop',
    changes: { 'resources.0.enrich': [step('a', { dependsOn: ['b'] }), step('b', { dependsOn: ['a'] })] },
    issues: ['cycle resources.0.enrich.1.dependsOn.0'],
  },
  {
    rule: 'an inferred lookup loop',
    changes: {
      lookups: [
        { assignTo: 'a', ...request, value: '$lookups.b.x' },
        { assignTo: 'b', ...request, value: '$lookups.a.x' },
      ],
    },
    issues: ['cycle lookups.1'],
  },
  {
    rule: 'a resource loop',
    changes: { 'resources.0.dependsOn': ['notes'], 'resources.1.forEach': [{ as: 'a', resource: 'accounts' }] },
    issues: ['cycle resources.1.forEach.0.resource'],
  },
];

describe('checkSpec', () => {
  it.each(names)('reports $rule, and nothing else', ({ changes, issues }) => {
    expect(codesAndPaths(changedSpec(changes))).toEqual(issues);
  });
});
