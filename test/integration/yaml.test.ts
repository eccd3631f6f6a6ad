import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { type Reply, startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { connectionBody, publishSpec, specDocument } from '../support/upstream/api-fixtures.ts';

let api: TestApi;
let org: TestOrg;
beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
});
afterAll(() => api[Symbol.asyncDispose]());

interface Sent {
  readonly method?: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function send(path: string, body: string, { method = 'POST', type = 'application/yaml', headers }: Sent = {}) {
  const all = { authorization: `Bearer ${org.apiKey}`, 'content-type': type, ...headers };
  const response = await api.app.request(`/api/v1${path}`, { method, headers: all, body });
  const reply: Reply = { status: response.status, headers: response.headers, body: await response.json() };
  return reply;
}

/** A spec as an author writes it, with anchors and comments. */
const written = (key: string): string => `
# yaml-language-server: $schema=connector-spec.schema.json
metadata: { key: ${key}, name: Acme, version: 1.0.0 }
http: { baseUrl: https://api.acme.test }
resources:
  - key: accounts
    primaryKey: id
    request: &page { path: /accounts, query: { since: 2020-01-01 } }
  - key: notes
    primaryKey: id
    request: *page
`;

describe('a spec in YAML', () => {
  it.each(['application/yaml', 'text/yaml', 'application/x-yaml', 'Application/YAML; charset=utf-8'])(
    'is a draft of the same document when the content type is %s',
    async (type) => {
      const key = type.replaceAll(/\W/g, '');
      const { status, body } = await send('/specs', written(key), { type });
      const request = { path: '/accounts', query: { since: '2020-01-01' } };
      expect(status).toBe(201);
      expect(body.specJson).toEqual({
        metadata: { key, name: 'Acme', version: '1.0.0' },
        http: { baseUrl: 'https://api.acme.test' },
        resources: [
          { key: 'accounts', primaryKey: 'id', request },
          { key: 'notes', primaryKey: 'id', request },
        ],
      });
    },
  );

  it('has the checksum of the same document in JSON', async () => {
    const document = specDocument({ key: 'same' });
    const { body: yaml } = await send('/specs/same/validate', stringify(document));
    const { body: json } = await org.call('POST', '/specs/same/validate', { body: document });
    expect(yaml).toEqual(json);
    const { body: draft } = await send('/specs', stringify(document));
    const { body: replaced } = await org.call('PUT', '/specs/same/versions/1.0.0', { body: document });
    expect(draft.checksum).toBe(replaced.checksum);
  });

  it('gets issues with line and column, at the paths of JSON', async () => {
    const text = `${written('bad')}    resorces: []\nauth:\n  kind: magic\n`;
    const { body: validated } = await send('/specs/bad/validate', text);
    expect(validated).toMatchObject({ valid: false });
    expect(validated.issues).toEqual([
      expect.objectContaining({ code: 'schema', path: 'resources.1.resorces', line: 12, column: 5 }),
      expect.objectContaining({ code: 'schema', path: 'auth.kind', line: 14, column: 3 }),
    ]);
    const { status, body } = await send('/specs', text);
    expect({ status, issues: body.error.issues }).toEqual({ status: 400, issues: validated.issues });
    const json = await org.call('POST', '/specs', { body: { ...specDocument({ key: 'bad' }), resorces: [] } });
    expect(json.body.error.issues[0]).toEqual({ code: 'schema', path: 'resorces', message: expect.any(String) });
  });

  it('replaces a draft, and a repetition with the same key gets the same response', async () => {
    const headers = { 'idempotency-key': 'yaml-1' };
    const first = await send('/specs', written('put'), { headers });
    const again = await send('/specs', written('put').replace('# yaml', '# YAML'), { headers });
    expect(again.body).toEqual(first.body);
    const named = written('put').replace('name: Acme', 'name: Renamed');
    const { status, body } = await send('/specs/put/versions/1.0.0', named, { method: 'PUT' });
    expect({ status, name: body.specJson.metadata.name }).toEqual({ status: 200, name: 'Renamed' });
  });

  it.each([
    ['a billion laughs', `a: &a [x, x]\nb: &b [${'*a, '.repeat(60)}]\nc: [*b, *b]`, 'aliases'],
    ['a key that comes twice', 'metadata: {}\nmetadata: {}', 'the key comes twice in this object'],
    ['a merge key', 'a: &a {}\nb: { <<: *a }', 'merge keys'],
    ['a name of the prototype chain', 'metadata: { __proto__: 1 }', 'has a name that is not allowed'],
    ['half of a surrogate pair', 'metadata: { name: "\\ud800" }', 'holds half of a surrogate pair'],
    ['a text that is too long', `metadata: { name: ${'x'.repeat(70_000)} }`, 'is longer than 65536 characters'],
    ['a number beyond a double', 'metadata: { name: .inf }', 'is a number beyond the range of a double'],
  ])('is refused with an issue that has a line for %s', async (_name, text, message) => {
    const { status, body } = await send('/specs', text);
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: 'validation', issues: [{ line: expect.any(Number) }] });
    expect(body.error.issues[0].message).toContain(message);
  });

  it.each([
    ['an empty body', ' \n', 'The body is empty: send YAML or JSON.'],
    ['a tag', 'a: !x y', 'The body is not YAML: tags such as `!name` are not supported (line 1 column 4).'],
    ['deep nesting', '['.repeat(1000), 'nested deeper than 64 levels'],
  ])('is refused without a code for %s', async (_name, text, message) => {
    const { status, body } = await send('/specs', text);
    expect({ status, code: body.error.code }).toEqual({ status: 400, code: undefined });
    expect(body.error.message).toContain(message);
  });

  it('is refused when it is longer than JSON may be', async () => {
    expect(await send('/specs', `a: ${'x'.repeat(1_048_576)}`)).toMatchObject({ status: 413 });
  });

  it('is not read by an endpoint that takes no spec', async () => {
    const { status, body } = await send('/connections', 'specKey: acme');
    expect({ status, message: body.error.message }).toMatchObject({
      status: 400,
      message: expect.stringMatching(/not JSON/),
    });
  });
});

describe('overrides in YAML', () => {
  it('change a connection, and issues say where they are', async () => {
    await publishSpec(org, { key: 'over' });
    const { body: connection } = await org.call('POST', '/connections', {
      body: connectionBody(org, 'over'),
    });
    const at = `/connections/${connection.id}`;
    const changed = await send(at, 'specOverridesJson:\n  http: { timeoutMs: 5000 }', { method: 'PATCH' });
    expect(changed).toMatchObject({ status: 200, body: { specOverridesJson: { http: { timeoutMs: 5000 } } } });
    const { status, body } = await send(at, 'displayName: ok\nspecOverridesJson: 5', { method: 'PATCH' });
    expect({ status, issues: body.error.issues }).toMatchObject({
      status: 400,
      issues: [{ path: 'specOverridesJson', line: 2, column: 1 }],
    });
  });
});
