/** An object of a document. */
export interface Json {
  readonly [property: string]: unknown;
}

/** A spec, as far as tests read it. */
export interface SpecDocument extends Json {
  readonly metadata: { readonly key: string; readonly version: string; readonly [property: string]: unknown };
  readonly resources: readonly (Json & { readonly key: string })[];
}

/** A spec and what a connection of it needs: together with the others it has text in every slot of the schema. */
export interface BaseDocument {
  readonly name: string;
  readonly document: SpecDocument;
  readonly params: Json;
  readonly secrets: Json;
  /** How its runs end before anything is changed. */
  readonly ends: string;
  /** Where texts are changed: paths that begin so. Other parts are those of another document. */
  readonly changed: readonly string[];
}

/** What the fake systems of the documents listen at. */
export interface Addresses {
  readonly api: string;
  readonly database: URL;
  /** A SQL Server that refuses every login. */
  readonly sqlServerPort: number;
  readonly webhook: string;
  readonly webhookSecret: string;
}

/** A spec without params of its own; its first resource is the one to sync. */
export function spec(name: string, at: Addresses, parts: Partial<SpecDocument>): SpecDocument {
  return {
    metadata: {
      key: name,
      name,
      version: '1.0.0',
      description: 'A description',
      docsUrl: 'https://docs.example.com/',
      iconUrl: 'https://docs.example.com/icon.svg',
      tags: ['tag'],
    },
    connectionParams: [
      param('databaseUrl', { secret: true, example: 'postgres://db/x', helpUrl: 'https://docs.example.com/url' }),
    ],
    http: { baseUrl: at.api, ...unlimited },
    resources: [simple('items')],
    destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
    ...parts,
  };
}

/** A parameter of a connection. */
export const param = (key: string, parts: Json = {}): Json => ({ key, type: 'string', ...parts });
/** Settings that keep no test waiting. */
export const unlimited = {
  rateLimit: { requests: 1_000_000, perSeconds: 1, maxConcurrent: 8 },
  retry: { maxAttempts: 1, baseMs: 1, maxMs: 1 },
};
/** A resource that reads one page. */
export const simple = (key: string, parts: Json = {}) => ({
  key,
  primaryKey: 'id',
  request: { path: `/${key}` },
  response: { records: 'data' },
  ...parts,
});
/** A schema of records. */
export const text = {
  type: 'object',
  properties: { id: { type: 'string' }, name: { type: 'string', description: 'A name' } },
};
