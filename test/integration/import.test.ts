import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { useSharedService } from '../support/service/use-shared-service.ts';
import { connectCustomer } from '../support/sync/customer.ts';
import { createScriptedApi, type ScriptedReply } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const shared = useSharedService({ reply: api.reply });

/** Posts a document and returns the reply. */
const send = (document: unknown, more: Readonly<Record<string, unknown>> = {}) =>
  shared().stack.org.call('POST', '/specs/import', { body: { format: 'openapi', document, ...more } });

const json = (schema: unknown) => ({ 200: { description: '', content: { 'application/json': { schema } } } });
const text = { type: 'string' };
const query = (name: string, schema: unknown = text) => ({ name, in: 'query', schema });
const list = (properties: unknown) => ({ type: 'array', items: { type: 'object', required: ['id'], properties } });
const project = {
  id: { type: 'integer' },
  name: text,
  'due-on': { ...text, format: 'date' },
  updated_at: { ...text, format: 'date-time' },
};

/** The description of the API that {@link serve} is. */
const description = (url: string) => ({
  openapi: '3.1.0',
  info: { title: 'Small API', version: '1' },
  servers: [{ url }],
  security: [{ key: [] }],
  components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
  paths: {
    '/projects': {
      get: {
        operationId: 'projects',
        parameters: [
          query('page', { type: 'integer' }),
          query('per_page', { type: 'integer', maximum: 2 }),
          query('updated_since'),
        ],
        responses: json({
          type: 'object',
          properties: { data: list(project), meta: { type: 'object', properties: { last_page: { type: 'integer' } } } },
        }),
      },
    },
    '/projects/{project_id}/issues': {
      get: {
        parameters: [query('cursor')],
        responses: json({ type: 'object', properties: { items: list({ id: text, title: text }), next_cursor: text } }),
      },
    },
    '/people': {
      get: {
        responses: json({
          type: 'object',
          properties: {
            data: list({ id: text, type: text, attributes: { type: 'object', properties: { email: text } } }),
            links: { type: 'object', properties: { next: text } },
          },
        }),
      },
    },
  },
});

const projects = [1, 2, 3].map((id) => ({
  id,
  name: `P${id}`,
  'due-on': `2026-01-0${id}`,
  updated_at: `2026-02-0${id}T00:00:00Z`,
}));

/** The API as it is described, and the queries that came for projects. */
function serve(): readonly string[] {
  const asked: string[] = [];
  const keyed = (reply: () => ScriptedReply, headers: Readonly<Record<string, string>>): ScriptedReply =>
    headers['x-key'] === 'open sesame' ? reply() : { status: 401, body: {} };
  api.serve('projects', (params, { url, headers }) =>
    keyed(() => {
      const [, , id] = new URL(url, 'http://upstream').pathname.split('/');
      if (id !== undefined) {
        const [item, next] = params.get('cursor') === null ? ['a', 'more'] : ['b', null];
        return { body: { items: [{ id: item, title: `${item} of ${id}` }], next_cursor: next } };
      }
      asked.push(params.toString());
      const page = Number(params.get('page'));
      return { body: { data: projects.slice(2 * page - 2, 2 * page), meta: { last_page: 2 } } };
    }, headers),
  );
  api.serve('people', (params, { headers }) =>
    keyed(() => {
      const isFirst = params.get('from') === null;
      const [id, next] = isFirst ? ['1', '/people?from=2'] : ['2', null];
      return { body: { data: [{ id, type: 'person', attributes: { email: `${id}@acme.example` } }], links: { next } } };
    }, headers),
  );
  return asked;
}

describe('a draft that was made from an OpenAPI document', () => {
  it('is accepted as a spec and reads the API that was described: pages, changes, partitions, renamed fields', async () => {
    const asked = serve();
    const { stack, upstream } = shared();
    const reply = await send(stringify(description(upstream.url)), { key: 'small-api' });
    expect(reply).toMatchObject({ status: 200, body: { report: [{ name: 'projects' }, {}, { name: 'GET /people' }] } });
    await using customer = await connectCustomer(stack, {
      document: reply.body.spec,
      params: {},
      secrets: { key: 'open sesame' },
    });
    const rowsOf = (table: string, columns: string) =>
      customer.destination.query(`select ${columns} from ${table} order by 1, 2`);

    expect(await customer.sync('projects')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 3 } });
    expect(await rowsOf('projects', 'id::int, name, due_on::text')).toEqual(
      projects.map(({ id, name, 'due-on': due }) => ({ id, name, due_on: due })),
    );
    expect(await customer.sync('projects')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 0 } });
    expect(asked.at(-1)).toMatch(/updated_since=2026-02-03/);

    expect(await customer.sync('projects_issues')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 6 } });
    expect(await rowsOf('projects_issues', 'project_id::int, id, title')).toEqual(
      projects.flatMap(({ id }) => ['a', 'b'].map((item) => ({ project_id: id, id: item, title: `${item} of ${id}` }))),
    );

    expect(await customer.sync('people')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 2 } });
    expect(await rowsOf('people', 'id, email')).toEqual(['1', '2'].map((id) => ({ id, email: `${id}@acme.example` })));
  });
});

/** A manifest of Airbyte with one stream. */
const manifest = {
  version: '6.0.0',
  type: 'DeclarativeSource',
  check: { type: 'CheckStream', stream_names: ['users'] },
  streams: [
    {
      type: 'DeclarativeStream',
      name: 'users',
      primary_key: 'id',
      retriever: {
        type: 'SimpleRetriever',
        requester: { type: 'HttpRequester', url_base: 'https://api.acme.example', path: '/users', http_method: 'GET' },
        record_selector: { type: 'RecordSelector', extractor: { type: 'DpathExtractor', field_path: ['data'] } },
      },
    },
  ],
};
const custom = { ...manifest.streams[0], retriever: { type: 'CustomRetriever', class_name: 'source.Retriever' } };

describe('POST /specs/import', () => {
  it('makes a draft of a manifest of Airbyte too', async () => {
    const { status, body } = await send(stringify(manifest), { format: 'airbyte', key: 'acme' });
    expect(status).toBe(200);
    expect(body.report).toEqual([{ name: 'users', status: 'converted', path: null, reason: null }]);
    expect((await shared().stack.org.call('POST', '/specs', { body: body.spec })).status).toBe(201);
  });

  it('says why no stream of a manifest can be converted', async () => {
    const { status, body } = await send({ ...manifest, streams: [custom] }, { format: 'airbyte' });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: 'validation', issues: [{ message: expect.stringContaining('users: ') }] });
  });

  it('saves nothing, and gives the same for an object, JSON text and YAML text', async () => {
    const document = description('https://api.acme.example');
    const replies = await Promise.all(
      [document, JSON.stringify(document), stringify(document)].map((one) => send(one)),
    );
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(replies[1]?.body).toEqual(replies[0]?.body);
    expect(replies[2]?.body).toEqual(replies[0]?.body);
    expect(replies[0]?.body.spec.metadata.key).toBe('small-api');
    expect((await (await shared().stack.newOrg()).call('GET', '/specs')).body).toEqual([]);
  });

  it('takes texts as long as a body may be', async () => {
    const document = { ...description('https://api.acme.example'), 'x-note': 'n'.repeat(500_000) };
    expect((await send(JSON.stringify(document))).status).toBe(200);
    expect((await send(document)).status).toBe(200);
    expect((await send('x'.repeat(1_048_576))).status).toBe(413);
  });

  it.each([
    ['no document', undefined, 'document'],
    ['text that is no YAML', 'a: [', 'document'],
    ['a document of another format', { swagger: '1.2' }, 'document.openapi'],
    ['a manifest without streams', { version: '6.0.0' }, 'document.streams', 'airbyte'],
    ['a key twice in the text', 'openapi: 3.1.0\npaths: {}\npaths: {}', 'document.paths'],
    ['a name of the prototype chain in the text', '{"openapi":"3.0.0","__proto__":{}}', 'document'],
    ['no list', { openapi: '3.0.0', paths: {} }, 'document.paths'],
    [
      'only lists without a counterpart',
      { openapi: '3.0.0', paths: { '/a': { get: { responses: json({ type: 'array', items: text }) } } } },
      'document.paths./a.get',
    ],
  ])('says what is wrong with %s', async (_, document, path, format = 'openapi') => {
    const { status, body } = await send(document, { format });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: 'validation', issues: [expect.objectContaining({ path })] });
  });

  it('says what is wrong with the format and the key', async () => {
    const { body } = await send({}, { format: 'wsdl', key: 'a b' });
    expect(body.error.issues.map(({ path }: { readonly path: string }) => path)).toEqual(['format', 'key']);
  });
});
