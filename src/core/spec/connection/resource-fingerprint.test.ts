import { expect, test } from 'vitest';
import { resourceFingerprint } from './resource-fingerprint.ts';

const resource = {
  response: { map: '$', addFields: { a: '1' }, records: '$' },
  transform: '{ "a": a }',
  transformNulls: 'keep',
  validate: { schema: { type: 'object' } },
  enrich: [],
  target: { table: 't', mode: 'upsert' },
};

test.each([
  ['map', { ...resource, response: { ...resource.response, map: 'node' } }],
  ['addFields', { ...resource, response: { ...resource.response, addFields: {} } }],
  ['enrich', { ...resource, enrich: [{ assignTo: 'x' }] }],
  ['transform', { ...resource, transform: '{ "a": b }' }],
  ['transformNulls', { ...resource, transformNulls: 'missing' }],
  ['validate', { ...resource, validate: { schema: {} } }],
  ['target', { ...resource, target: { table: 'u', mode: 'upsert' } }],
])('changes with %s', (_part, changed) => {
  expect(resourceFingerprint(changed)).not.toBe(resourceFingerprint(resource));
});

test('stays the same when only reading changes, or the order of properties', () => {
  const { target, ...rest } = resource;
  const changed = { target: { mode: target.mode, table: target.table }, ...rest, pagination: { kind: 'page' } };
  expect(resourceFingerprint(changed)).toBe(resourceFingerprint(resource));
});

test('a resource that leaves everything out has a fingerprint too', () => {
  expect(resourceFingerprint({})).toMatch(/^[A-Za-z0-9_-]{43}$/);
});
