import { describe, expect, it } from 'vitest';
import { richSpec } from '../../../test/support/console/rich-specs.ts';
import { readYaml } from '../../core/json/yaml.ts';
import { specText } from './spec-text.ts';

const document = richSpec({
  key: 'crm',
  name: 'CRM',
  version: '1.0.0',
  resources: ['contacts'],
  transform: '{"id": id}',
});
/** As the database gives it: short names first. */
const stored = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(stored);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).toSorted(([a], [b]) => a.length - b.length || (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([name, field]) => [name, stored(field)]));
};

describe('a spec document as text', () => {
  it('is the same document', () => {
    expect(readYaml(specText(stored(document))).value).toEqual(document);
  });

  it('has its fields in the order of the schema', () => {
    const text = specText(stored(document));
    const names = [...text.matchAll(/^(\w+):/gm)].map(([, name]) => name);
    expect(names).toEqual(['metadata', 'connectionParams', 'auth', 'http', 'resources', 'destination']);
    expect(text).toMatch(/resources:\n {2}- key: contacts\n/);
  });
});
