import { describe, expect, it } from 'vitest';
import { put } from '../../../../test/support/sync/spec-documents.ts';
import { checkSpec } from '../check/check.ts';
import { type Field, type Section, sectionsOfSpec } from './fields.ts';

const sections = sectionsOfSpec();
const cases = sections.flatMap((section) =>
  section.fields.map((field) => ({ section, field, at: nameOf(section, field) })),
);

function nameOf({ path, kind }: Section, { name }: Field): string {
  return `${path}${kind === null ? '' : ` (${kind})`} ${name}`;
}

const ascending = { kind: 'cursor', cursor: { field: 'at', type: 'datetime', missing: 'exclude' }, order: 'asc' };

/** What an example needs beside it to be complete. */
const beside: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'auth (oauth2_authorization_code) app': { clientId: undefined, clientSecret: undefined },
  'auth (oauth2_authorization_code) account': { callback: { metadata: { realm: 'realmId' } } },
  'resources[].request url': { path: undefined },
  'resources[].request body': { method: 'POST' },
  'resources[].forEach[] resource': { values: undefined },
  'resources[].forEach[] value': { values: undefined, resource: 'accounts' },
  'resources[].forEach[] union': { values: undefined },
  'resources[].forEach[].union[] resource': { values: undefined },
  'resources[].forEach[].union[] value': { values: undefined, resource: 'accounts' },
  'resources[].incremental (cursor) resultCap': { window: { size: 'P1D' } },
  ...Object.fromEntries(
    ['page', 'offset', 'cursor', 'keyset'].map((kind) => [`resources[].pagination (${kind}) shrink`, { size: 100 }]),
  ),
  'resources[] job': { request: { path: '/exports/{{ job.id }}/rows' } },
  'resources[] limits': { incremental: ascending },
  'resources[] fieldChunks': { request: { path: '/accounts', query: { fields: '{{ chunk.fields }}' } } },
  'resources[].changeDetection mode': { mode: 'field', field: 'etag' },
  'resources[].enrich[] batch': { key: 'record.id' },
  'resources[].enrich[] cache': { key: 'record.id' },
  ...Object.fromEntries(
    ['host', 'database', 'user', 'password'].map((part) => [
      `destination (postgres) ${part}`,
      { url: undefined, host: 'h', database: 'd', user: 'u', password: 'p' },
    ]),
  ),
  'destination (sqlserver) authentication': { user: undefined, password: undefined },
  'connectionParams[] secret': { default: undefined },
  'connectionParams[] default': { enum: ['eu', 'us'] },
  'connectionParams[] enum': { default: 'eu' },
};

/** The least of each object that is not valid without some optional fields. */
const least: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'resources[].request': { path: '/accounts' },
  'resources[].forEach[]': { values: '{{ params.projects }}' },
  'resources[].forEach[].union[]': { values: '{{ params.projects }}' },
  'destination (postgres)': { url: '{{ secrets.databaseUrl }}' },
  'destination (sqlserver)': { user: '{{ params.user }}', password: '{{ secrets.password }}' },
  'auth (oauth2_authorization_code)': {
    clientId: '{{ params.clientId }}',
    clientSecret: '{{ secrets.clientSecret }}',
  },
  'resources[].incremental (cursor)': { cursor: { field: 'at', type: 'datetime' } },
  'resources[].incremental.cursor': { field: 'at' },
  'resources[].request.body': {},
  'resources[].pagination.shrink': { when: { status: [500] } },
  'http.errors[].when': {},
  'resources[].fieldChunks': { size: 100 },
  http: { baseUrl: 'https://api.acme.example' },
};

/** A spec that has the object of a section, with its required fields. */
function specWith(section: Section, changes: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { path, kind, kindField } = section;
  const required = section.fields.filter(({ isRequired }) => isRequired).map(({ name, example }) => [name, example]);
  const key = `${path}${kind === null ? '' : ` (${kind})`}`;
  const object = {
    ...(kind === null ? {} : { [kindField]: kind }),
    ...Object.fromEntries(required),
    ...least[key],
    ...changes,
  };
  const document = base(path === 'resources[]' ? 'others' : 'accounts');
  const steps = path.replaceAll('[]', '.0').replaceAll('*', 'owner_email');
  prepare(document, steps);
  if (path === '') Object.assign(document, changes);
  else {
    const at =
      path === 'http' || path === 'resources[]' || path === 'tests[]'
        ? { ...valueAt(document, steps), ...object }
        : object;
    put(document, steps, at);
  }
  return declared(JSON.parse(JSON.stringify(document)));
}

const valueAt = (document: unknown, path: string): object =>
  path.split('.').reduce((value, step) => Object(Reflect.get(Object(value), step)), document) as object;

const base = (other: string): Record<string, unknown> => ({
  metadata: { key: 'acme', name: 'Acme', version: '1.0.0' },
  http: { baseUrl: 'https://api.acme.example' },
  lookups: [{ assignTo: 'countries', kind: 'static', table: {} }],
  resources: [
    {
      key: 'contacts',
      primaryKey: 'id',
      request: {
        path: '/contacts',
        query: { limit: '{{ page.size }}', fields: '{{ chunk.fields }}', of: '{{ job.id }}{{ job.part }}' },
      },
      forEach: [{ as: 'project', values: '{{ params.projects }}' }],
    },
    { key: other, primaryKey: 'id', request: { path: '/a' }, target: { table: 'all_accounts' } },
  ],
});

/** Lists and kinds on the way to an object, so that it is at a place of a valid document. */
function prepare(document: Record<string, unknown>, steps: string): void {
  const on = (path: string, value: unknown) => steps.startsWith(path) && put(document, path.slice(0, -1), value);
  on('connectionParams.', []);
  on('lookups.0.cache', undefined);
  if (steps.startsWith('lookups.0.cache')) {
    put(document, 'lookups.0', { assignTo: 'users', kind: 'request', request: { path: '/users' }, keyBy: 'id' });
  }
  if (/^lookups\.0\.?$/.test(steps)) put(document, 'lookups', [null]);
  on('resources.0.pagination.', { kind: 'cursor', size: 100, next: 'body.next', inject: { in: 'query', name: 'c' } });
  if (steps === 'resources.0.limits') put(document, 'resources.0.incremental', ascending);
  on('resources.0.incremental.', {
    kind: 'cursor',
    cursor: { field: 'at', type: 'datetime' },
    order: 'asc',
    window: { size: 'P1D' },
  });
  if (steps.startsWith('resources.0.incremental.expired'))
    put(document, 'resources.0.incremental', { kind: 'token', next: 'body.t' });
  if (steps.includes('incremental')) put(document, 'resources.0.response', { total: 'total' });
  if (steps.startsWith('resources.0.enrich')) {
    put(document, 'resources.0.enrich', [{ assignTo: 'plan', key: 'record.id', request: { path: '/p' } }]);
  }
  if (steps.startsWith('resources.0.forEach.0.union'))
    put(document, 'resources.0.forEach', [{ as: 'project', union: [{}] }]);
  on('resources.0.validate.', { schema: {} });
  if (steps.startsWith('http.errors')) put(document, 'http.errors', [{ when: { status: [404] }, action: 'empty' }]);
  if (steps.startsWith('resources.0.request.body'))
    put(document, 'resources.0.request', { method: 'POST', path: '/a', body: {} });
  for (const [auth, value] of Object.entries(auths)) if (steps.startsWith(auth)) put(document, 'auth', value);
  if (steps.startsWith('destination.authentication')) {
    put(document, 'destination', { kind: 'sqlserver', host: 'h', database: 'd' });
  }
  if (steps.startsWith('tests')) {
    put(document, 'tests', [{ name: 'n', resource: 'accounts', expect: {}, mocks: [{ request: {}, respond: {} }] }]);
  }
}

const client = { tokenUrl: 'https://a.test/t', clientId: 'c', clientSecret: 's' };
const auths = {
  'auth.put': { kind: 'oauth2_client_credentials', ...client },
  'auth.refresh': { kind: 'oauth2_authorization_code', authorizeUrl: 'https://a.test/a', ...client },
  'auth.tokenResponse': { kind: 'oauth2_client_credentials', ...client },
  'auth.callback': { kind: 'oauth2_authorization_code', authorizeUrl: 'https://a.test/a', ...client },
  'auth.exchange': { kind: 'jwt', algorithm: 'RS256', key: 'k', claims: {} },
};

/** The document with every param and secret that it uses. */
function declared(document: Record<string, unknown>): Record<string, unknown> {
  const text = JSON.stringify(document);
  const uses = (root: string) => [
    ...new Set([...text.matchAll(new RegExp(`${root}\\.(\\w+)`, 'g'))].map(([, key = '']) => key)),
  ];
  const given = (document['connectionParams'] ?? []) as readonly { readonly key: string }[];
  const missing = (key: string) => given.every((param) => param.key !== key);
  const type = (key: string) => (key === 'projects' ? 'string_list' : 'string');
  return {
    ...document,
    connectionParams: [
      ...given,
      ...uses('params')
        .filter(missing)
        .map((key) => ({ key, type: type(key) })),
      ...uses('secrets')
        .filter(missing)
        .map((key) => ({ key, type: 'string', secret: true })),
    ],
  };
}

describe('the fields of the reference', () => {
  it.each(cases)('have an example that the validator accepts: $at', ({ section, field, at }) => {
    const document = specWith(section, { [field.name]: field.example, ...beside[at] });
    expect(checkSpec(document)).toMatchObject({ valid: true });
  });

  it('say what they do', () => {
    for (const { field, at } of cases)
      expect([at, field.meaning.length > 8, field.type !== '']).toEqual([at, true, true]);
  });
});
