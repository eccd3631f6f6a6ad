import { describe, expect, it } from 'vitest';
import { documentOf, get, imported, item, list, refusalOf } from './openapi-fixture.ts';

type Json = Readonly<Record<string, unknown>>;

const things = { '/things': get(list(item)) };
const specOf = (more: Json, paths: Json = things) => imported(documentOf(paths, more)).spec;
const schemes = (securitySchemes: Json, security?: unknown): Json => ({
  components: { securitySchemes },
  ...(security === undefined ? {} : { security }),
});

describe('the server of a document', () => {
  it('may have variables, which become params with their defaults', () => {
    const variables = { region: { default: 'eu', enum: ['eu', 'us'], description: 'Where' }, account: { default: '' } };
    const { http, connectionParams } = specOf({
      servers: [{ url: 'https://{account}.acme.example/{region}/', variables }],
    });
    expect(http.baseUrl).toBe('https://{{ params.account }}.acme.example/{{ params.region }}');
    expect(connectionParams).toEqual([
      { key: 'account', type: 'string' },
      { key: 'region', type: 'string', description: 'Where', required: false, default: 'eu', enum: ['eu', 'us'] },
    ]);
  });

  it.each([
    ['relative', { servers: [{ url: '/api/v1' }] }, '{{ params.serverUrl }}/api/v1'],
    ['missing', { servers: undefined }, '{{ params.serverUrl }}'],
  ])('is a param where it is %s', (_, more, baseUrl) => {
    const { http, connectionParams } = specOf(more);
    expect(http.baseUrl).toBe(baseUrl);
    expect(connectionParams).toMatchObject([{ key: 'serverUrl', type: 'url' }]);
  });

  it('is that of most lists; the others are refused', () => {
    const servers = [{ url: 'https://files.acme.example' }];
    expect(refusalOf('/files', get(list(item), { servers })).reason).toMatch(/another server/);
  });

  it.each(['ftp://acme.example', '//acme.example', 'https://a.example/{{ params.x }}', 'https://a.example/?x=1'])(
    'is refused when it is %s',
    (url) => {
      expect(refusalOf('/files', get(list(item), { servers: [{ url }] })).reason).toMatch(/no http or https URL/);
    },
  );
});

describe('the security of a document', () => {
  it.each([
    [
      'a key in a header',
      { type: 'apiKey', in: 'header', name: 'X-Key' },
      { kind: 'api_key', in: 'header', name: 'X-Key', value: '{{ secrets.s }}' },
    ],
    ['a key in the query', { type: 'apiKey', in: 'query', name: 'key' }, { kind: 'api_key', in: 'query', name: 'key' }],
    [
      'HTTP Basic',
      { type: 'http', scheme: 'Basic' },
      { kind: 'basic', username: '{{ params.user }}', password: '{{ secrets.password }}' },
    ],
    ['a bearer token', { type: 'http', scheme: 'bearer' }, { kind: 'bearer', token: '{{ secrets.token }}' }],
    [
      'client credentials',
      { type: 'oauth2', flows: { clientCredentials: { tokenUrl: '/oauth/token' } } },
      {
        kind: 'oauth2_client_credentials',
        tokenUrl: 'https://api.acme.example/oauth/token',
        clientId: '{{ params.clientId }}',
        scopes: ['read'],
      },
    ],
    [
      'an authorization code',
      {
        type: 'oauth2',
        flows: {
          authorizationCode: {
            tokenUrl: 'https://a.example/t',
            authorizationUrl: 'https://a.example/a',
            refreshUrl: 'https://a.example/r',
          },
        },
      },
      {
        kind: 'oauth2_authorization_code',
        tokenUrl: 'https://a.example/t',
        authorizeUrl: 'https://a.example/a',
        refreshUrl: 'https://a.example/r',
        clientSecret: '{{ secrets.clientSecret }}',
      },
    ],
  ])('by %s is kept, its credentials are params and secrets', (_, scheme, expected) => {
    const spec = specOf(schemes({ s: scheme }, [{ s: ['read'] }]));
    expect(spec.auth).toMatchObject(expected);
    const secrets = spec.connectionParams.filter(({ secret }: { readonly secret?: boolean }) => secret);
    expect(secrets).toHaveLength(1);
  });

  it('that needs two headers together sends both', () => {
    const both = { a: { type: 'apiKey', in: 'header', name: 'X-App' }, b: { type: 'http', scheme: 'bearer' } };
    expect(specOf(schemes(both, [{ a: [], b: [] }])).auth).toEqual({
      kind: 'headers',
      headers: { 'X-App': '{{ secrets.a }}', Authorization: 'Bearer {{ secrets.token }}' },
    });
  });

  it('is that of most lists; another one belongs to its resource alone, and what is public needs none', () => {
    const own = { k: { type: 'apiKey', in: 'header', name: 'X-Key' }, b: { type: 'http', scheme: 'bearer' } };
    const paths = {
      '/a': get(list(item)),
      '/b': get(list(item)),
      '/keyed': get(list(item), { security: [{ k: [] }] }),
      '/open': get(list(item), { security: [] }),
      '/either': get(list(item), { security: [{ k: [] }, { b: [] }] }),
    };
    const { spec } = imported(documentOf(paths, schemes(own, [{ b: [] }])));
    const kinds = spec.resources.map(({ key, auth }: Json) => [
      key,
      auth === undefined ? null : (auth as Json)['kind'],
    ]);
    expect(spec.auth.kind).toBe('bearer');
    expect(Object.fromEntries(kinds)).toEqual({ a: null, b: null, keyed: 'api_key', open: 'none', either: null });
  });

  it('is guessed, and says so, where the document has a scheme and uses it nowhere', () => {
    const { auth, metadata } = specOf(schemes({ s: { type: 'http', scheme: 'bearer' } }));
    expect(auth.kind).toBe('bearer');
    expect(metadata.description).toContain('does not say which requests need credentials');
  });

  it.each([
    [{ type: 'http', scheme: 'digest' }, /digest has no counterpart/],
    [{ type: 'openIdConnect', openIdConnectUrl: 'https://a.example' }, /openIdConnect has no counterpart/],
    [{ type: 'mutualTLS' }, /mutualTLS has no counterpart/],
    [{ type: 'oauth2', flows: { implicit: {} } }, /only client credentials and authorization code/],
    [
      { type: 'oauth2', flows: { clientCredentials: { tokenUrl: 'file:///etc/passwd' } } },
      /`tokenUrl` of its OAuth flow/,
    ],
    [{ type: 'apiKey', in: 'body', name: 'k' }, /no usable place or name/],
  ])('without a counterpart refuses the list that needs it, by its path: %j', (scheme, reason) => {
    const refused = refusalOf('/closed', get(list(item), { security: [{ x: [] }] }), schemes({ x: scheme }));
    expect(refused).toEqual({ path: 'components.securitySchemes.x', reason: expect.stringMatching(reason) });
  });
});
