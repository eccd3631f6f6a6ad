import { readFileSync } from 'node:fs';

type Document = Record<string, unknown>;

/** A copy of a spec document in test/fixtures/specs. */
export const specDocument = (name: 'minimal' | 'github-issues' | 'stripe' | 'hubspot-crm'): Document =>
  JSON.parse(readFileSync(new URL(`../../fixtures/specs/${name}.json`, import.meta.url), 'utf8'));

/** The minimal spec with values put at dotted paths; undefined removes what is there. */
export function changedSpec(changes: Readonly<Record<string, unknown>>): Document {
  const document = specDocument('minimal');
  for (const [path, value] of Object.entries(changes)) put(document, path, value);
  return JSON.parse(JSON.stringify(document));
}

/** Puts a value at a dotted path, making the objects on the way. */
export function put(document: Document, path: string, value: unknown): void {
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  let parent: Document = document;
  for (const step of steps) {
    parent[step] ??= {};
    parent = parent[step] as Document;
  }
  parent[last] = value;
}

/** What a test decides of {@link oneResourceSpec}. */
interface OneResource extends Document {
  readonly baseUrl: string;
  readonly lookups?: readonly Document[];
}

/** A spec of one resource, which is read without limits from the path of its name; everything else is the resource's. */
export const oneResourceSpec = (name: string, { baseUrl, lookups = [], ...resource }: OneResource): Document => ({
  metadata: { key: name, name, version: '1.0.0' },
  connectionParams: [],
  http: {
    baseUrl,
    rateLimit: { requests: 1_000_000, perSeconds: 1 },
    retry: { baseMs: 10, maxAttempts: 2 },
  },
  lookups,
  resources: [{ key: name, primaryKey: 'id', request: { path: `/${name}` }, ...resource }],
});
