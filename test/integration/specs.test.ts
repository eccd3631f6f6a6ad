import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { routes } from '../../src/api/routes/index.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { connectionBody, publishSpec, specDocument } from '../support/upstream/api-fixtures.ts';

let api: TestApi;
let org: TestOrg;
beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
});
afterAll(() => api[Symbol.asyncDispose]());

const draft = (key: string, version = '1.0.0') => org.call('POST', '/specs', { body: specDocument({ key, version }) });
const at = (key: string, version = '1.0.0') => `/specs/${key}/versions/${version}`;

describe('POST /specs', () => {
  it('creates a draft that holds the document as given', async () => {
    const { status, body } = await draft('as-given');
    expect(status).toBe(201);
    expect(body).toMatchObject({
      version: '1.0.0',
      status: 'draft',
      publishedAt: null,
      specJson: specDocument({ key: 'as-given' }),
    });
    expect(body.checksum).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(JSON.stringify(body.specJson)).toBe(JSON.stringify(specDocument({ key: 'as-given' })));
  });

  it('responds with 409 when the version exists for the key', async () => {
    await draft('twice');
    expect(await draft('twice')).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
    expect((await draft('twice', '1.0.1')).status).toBe(201);
  });

  it('lets only one of many simultaneous drafts of a version in', async () => {
    const statuses = (await Promise.all(Array.from({ length: 8 }, () => draft('raced')))).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(statuses.filter((status) => status === 409)).toHaveLength(7);
  });

  it('responds with 400 and every issue of an invalid spec and saves nothing', async () => {
    const document = { ...specDocument({ key: 'broken' }), resorces: [], auth: { kind: 'magic' } };
    const { status, body } = await org.call('POST', '/specs', { body: document });
    expect(status).toBe(400);
    expect(body.error.code).toBe('validation');
    expect(body.error.issues.map(({ path }: { path: string }) => path)).toEqual(
      expect.arrayContaining(['resorces', 'auth.kind']),
    );
    expect((await org.call('GET', '/specs/broken/versions')).status).toBe(404);
  });
});

describe('POST /specs/:key/validate', () => {
  it('responds with 200 for a valid and for an invalid spec, and saves neither', async () => {
    const valid = await org.call('POST', '/specs/checked/validate', { body: specDocument({ key: 'checked' }) });
    expect(valid).toMatchObject({ status: 200, body: { valid: true, spec: { metadata: { key: 'checked' } } } });
    const invalid = await org.call('POST', '/specs/checked/validate', { body: {} });
    expect(invalid).toMatchObject({ status: 200, body: { valid: false, issues: expect.arrayContaining([]) } });
    expect((await org.call('GET', '/specs/checked/versions')).status).toBe(404);
  });

  it.each([
    ['a name with U+0000', { metadata: { name: 'a\0' } }, 'metadata.name'],
    ['a text beyond the limit', { metadata: { description: 'a'.repeat(65_537) } }, 'metadata.description'],
  ])('responds with 200 for %s, which no other body may have', async (_, body, path) => {
    expect(await org.call('POST', '/specs/checked/validate', { body })).toMatchObject({
      status: 200,
      body: { valid: false, issues: [{ code: 'schema', path }] },
    });
    expect((await org.call('POST', '/specs', { body })).status).toBe(400);
  });

  it('finds a key that differs from the address', async () => {
    const { body } = await org.call('POST', '/specs/other/validate', { body: specDocument({ key: 'checked' }) });
    expect(body).toMatchObject({ valid: false, issues: [{ code: 'schema', path: 'metadata.key' }] });
  });
});

describe('publishing', () => {
  it('freezes a draft once; the second time is a conflict', async () => {
    await draft('frozen');
    const { status, body } = await org.call('POST', `${at('frozen')}/publish`);
    expect({ status, published: body.status }).toEqual({ status: 200, published: 'published' });
    expect(Date.parse(body.publishedAt)).toBeGreaterThan(0);
    expect(await org.call('POST', `${at('frozen')}/publish`)).toMatchObject({
      status: 409,
      body: { error: { code: 'conflict' } },
    });
  });

  it('responds with 404 for an unknown spec, an unknown version and a malformed one', async () => {
    await draft('known');
    for (const path of [at('unknown'), at('known', '9.9.9'), at('known', 'latest'), at('-', '1.0.0')]) {
      expect(await org.call('POST', `${path}/publish`)).toMatchObject({
        status: 404,
        body: { error: { code: 'not_found', message: 'Spec version not found.' } },
      });
    }
  });
});

describe('drafts', () => {
  it('can be replaced and deleted; published versions are immutable', async () => {
    await draft('mutable');
    const changed = {
      ...specDocument({ key: 'mutable' }),
      metadata: { key: 'mutable', name: 'Renamed', version: '1.0.0' },
    };
    const replaced = await org.call('PUT', at('mutable'), { body: changed });
    expect(replaced).toMatchObject({ status: 200, body: { specJson: changed, status: 'draft' } });
    expect(await org.call('DELETE', at('mutable'))).toMatchObject({ status: 200, body: { deleted: true } });
    expect((await org.call('GET', at('mutable'))).status).toBe(404);

    await publishSpec(org, { key: 'stone' });
    for (const method of ['PUT', 'DELETE']) {
      const options = method === 'PUT' ? { body: specDocument({ key: 'stone' }) } : {};
      expect(await org.call(method, at('stone'), options)).toMatchObject({
        status: 409,
        body: { error: { code: 'immutable' } },
      });
    }
  });

  it('cannot become another version or another key', async () => {
    await draft('fixed');
    for (const document of [specDocument({ key: 'fixed', version: '2.0.0' }), specDocument({ key: 'moved' })]) {
      expect(await org.call('PUT', at('fixed'), { body: document })).toMatchObject({
        status: 400,
        body: { error: { code: 'validation' } },
      });
    }
  });
});

describe('reading', () => {
  it('lists specs with their versions, and the versions of one, newest first', async () => {
    const other = await api.newOrg();
    await publishSpec(other, { key: 'listed' });
    await other.call('POST', '/specs', { body: specDocument({ key: 'listed', version: '1.1.0' }) });
    const { body: specs, headers } = await other.call('GET', '/specs');
    expect(headers.get('x-total-count')).toBe('1');
    expect(specs).toMatchObject([
      {
        key: 'listed',
        versions: [
          { version: '1.1.0', status: 'draft' },
          { version: '1.0.0', status: 'published' },
        ],
      },
    ]);
    const { body: versions } = await other.call('GET', '/specs/listed/versions');
    expect(versions.map(({ version }: { version: string }) => version)).toEqual(['1.1.0', '1.0.0']);
  });
});

describe('POST /specs/transform-preview', () => {
  const preview = (body: object) => org.call('POST', '/specs/transform-preview', { body });

  it('responds with the transformed record, lookups included', async () => {
    const { status, body } = await preview({
      expression: '{ "id": id, "country": $lookup($lookups.countries, country) }',
      record: { id: 7, country: 'DE' },
      lookups: { countries: { DE: 'Germany' } },
    });
    expect({ status, body }).toEqual({ status: 200, body: { id: 7, country: 'Germany' } });
  });

  it.each([
    ['compiled', '{ "id": $uppercase(id) }'],
    ['interpreted', '{ "id": $map(id, $uppercase)[0] }'],
  ])('says that an expression was %s', async (engine, expression) => {
    const { body, headers } = await preview({ expression, record: { id: 'x' } });
    expect({ body, engine: headers.get('x-expression-engine') }).toEqual({ body: { id: 'X' }, engine });
  });

  it.each([
    ['throws', '$error("no")'],
    ['does not parse', '{ "a": '],
    ['gives no object', 'id'],
    ['gives nothing', 'missing'],
    ['gives a list', '[1, 2]'],
  ])('responds with 400 when the expression %s', async (_what, expression) => {
    const reply = await preview({ expression, record: { id: 7 } });
    expect(reply).toMatchObject({
      status: 400,
      body: { error: { code: 'validation', issues: [{ path: 'expression' }] } },
    });
  });

  it('reads tables by each of their names, and takes null for none', async () => {
    const lookups = { countries: { DE: 'Germany' } };
    for (const table of ['$lookups.countries', '$countries', 'lookups.countries']) {
      const reply = await preview({ expression: `{ "a": ${table}.DE }`, record: { id: 7 }, lookups });
      expect(reply).toMatchObject({ status: 200, body: { a: 'Germany' } });
    }
    expect((await preview({ expression: '{ "a": id }', record: { id: 7 }, lookups: null })).body).toEqual({ a: 7 });
  });

  it.each([{ record: [] }, { record: {}, lookups: [] }, { record: 'x' }])(
    'refuses a list for an object: %j',
    async (b) => {
      const { status, body } = await preview({ expression: '{}', ...b });
      expect(status).toBe(400);
      expect(body.error.issues).toMatchObject([{ message: 'expected an object' }]);
    },
  );

  it('responds with 400 when it never ends, while others are served', async () => {
    const endless = preview({ expression: '($f := function(){$f()}; $f())', record: {} });
    expect((await org.call('GET', '/api/health')).status).toBe(200);
    expect((await endless).status).toBe(400);
  });
});

describe('the examples of the document', () => {
  it('work: a spec that can be published and a connection of it', async () => {
    const examples = new Map(routes.map(({ method, path, bodyExample }) => [`${method} ${path}`, bodyExample]));
    const example = async (path: string, changes: object = {}) =>
      org.call('POST', path, { body: { ...Object(examples.get(`post ${path}`)), ...changes } });
    expect((await example('/specs')).status).toBe(201);
    expect((await org.call('POST', `${at('acme-crm')}/publish`)).status).toBe(200);
    expect((await example('/connections', { workspaceId: org.workspaceId })).status).toBe(201);
    expect((await example('/specs/transform-preview')).status).toBe(200);
    expect((await example('/workspaces')).status).toBe(201);
  });
});

describe('a draft', () => {
  it('cannot be pinned', async () => {
    await draft('unpinned');
    const reply = await org.call('POST', '/connections', { body: connectionBody(org, 'unpinned') });
    expect(reply).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
  });
});
