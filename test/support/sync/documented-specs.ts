/** The specs and fragments in the pages for authors of connectors. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readYaml } from '../../../src/core/json/yaml.ts';

/** A document as YAML gives it. */
export type Document = Readonly<Record<string, unknown>>;

/** A page for authors of connectors. */
export const readPage = (page: string): string =>
  readFileSync(join(import.meta.dirname, '../../../docs/connectors', `${page}.md`), 'utf8');

/** The YAML of a page, each with the comment right before it; null: none. */
export const blocksOf = (page: string) =>
  [...readPage(page).matchAll(/(?:<!-- (?<note>[^>]*) -->\n)?```yaml\n(?<text>.*?)```/gs)].map(({ groups, index }) => ({
    note: groups?.['note'] ?? null,
    document: readYaml(groups?.['text'] ?? '').value as Document,
    at: `${page}.md, line ${readPage(page).slice(0, index).split('\n').length}`,
  }));

const partsOfSpec = new Set([
  'metadata',
  'connectionParams',
  'auth',
  'http',
  'lookups',
  'resources',
  'destination',
  'tests',
]);

/** A whole spec around a fragment: the keys of a document, or those of a resource. Params and secrets are declared. */
export function specAround(fragment: Document): Document {
  const isSpec = Object.keys(fragment).every((key) => partsOfSpec.has(key));
  const spec: Document = {
    metadata: { key: 'cookbook', name: 'Cookbook', version: '1.0.0' },
    http: { baseUrl: 'https://api.acme.example' },
    resources: [{ key: 'items', primaryKey: 'id', request: { path: '/items' }, ...(isSpec ? {} : fragment) }],
    ...(isSpec ? fragment : {}),
  };
  const text = JSON.stringify(spec);
  const uses = (root: string) => new Set([...text.matchAll(new RegExp(`${root}\\.(\\w+)`, 'g'))].map(([, key]) => key));
  const params = [...uses('params')].map((key) => ({ key, type: key === 'projects' ? 'string_list' : 'string' }));
  const secrets = [...uses('secrets')].map((key) => ({ key, type: 'string', secret: true }));
  return { connectionParams: [...params, ...secrets], ...spec };
}
