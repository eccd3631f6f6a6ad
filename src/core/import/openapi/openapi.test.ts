import { describe, expect, it } from 'vitest';
import { importOpenapi } from './openapi.ts';
import { documentOf, get, imported, item, list, object, query, refusalOf, resourceOf } from './openapi-fixture.ts';

describe('an OpenAPI document', () => {
  it('becomes a draft that is named after its title, or by the key that is asked for', () => {
    const document = documentOf({ '/things': get(list(item)) });
    expect(imported(document).spec.metadata).toMatchObject({ key: 'acme-crm', name: 'Acme CRM', version: '0.1.0' });
    expect(importOpenapi(document, { key: 'ours' }).spec).toMatchObject({ metadata: { key: 'ours' } });
  });

  it('is reported operation by operation: lists in the order of the document, and nothing else', () => {
    const document = documentOf({
      '/b': get(list(item), { operationId: 'listB' }),
      '/b/{id}': get(item),
      '/me': get(item),
      '/a': get(list({ type: 'string' })),
      '/c': { post: {} },
      '/d': get({ $ref: 'other.yaml#/List' }),
    });
    expect(imported(document).report).toEqual([
      { name: 'listB', status: 'converted', path: null, reason: null },
      { name: 'GET /a', status: 'refused', path: 'paths./a.get', reason: expect.stringContaining('of type string') },
      {
        name: 'GET /d',
        status: 'refused',
        path: 'paths./d.get',
        reason: expect.stringContaining('not in the document'),
      },
    ]);
  });

  it.each([
    ['a text', 'x', 'openapi'],
    ['another format', { swagger: '1.2' }, 'openapi'],
    ['no list at all', documentOf({ '/me': get(item) }), 'paths'],
    ['only lists that cannot be converted', documentOf({ '/a': get(list({ type: 'string' })) }), 'paths./a.get'],
  ])('is refused with an issue: %s', (_, document, path) => {
    const issues = [expect.objectContaining({ code: 'schema', path })];
    expect(() => importOpenapi(document, {})).toThrow(expect.objectContaining({ code: 'validation', issues }));
  });

  it('of version 3.0 says null by `nullable`', () => {
    const document = {
      ...documentOf({
        '/things': get(
          list(
            object(
              { id: { type: 'integer' }, at: { type: 'string', format: 'date-time', nullable: true } },
              { required: ['id', 'at'] },
            ),
          ),
        ),
      }),
      openapi: '3.0.3',
    };
    expect(imported(document).resources['things'].validate.schema.properties).toEqual({
      id: { type: 'integer' },
      at: { type: ['string', 'null'], format: 'date-time' },
    });
  });

  it('of Swagger 2 has its address in parts, its schemas in the responses, and its parameters are schemas', () => {
    const document = {
      swagger: '2.0',
      info: { title: 'Old', version: '1' },
      host: 'old.example',
      basePath: '/rest',
      schemes: ['http', 'https'],
      produces: ['application/json'],
      securityDefinitions: {
        key: { type: 'apiKey', in: 'header', name: 'X-Key' },
        code: { type: 'oauth2', flow: 'implicit' },
      },
      security: [{ code: [] }, { key: [] }],
      definitions: {
        Pet: object({ pet_id: { type: 'integer', format: 'int64' }, name: { type: 'string', 'x-nullable': true } }),
      },
      parameters: { limit: { name: 'limit', in: 'query', type: 'integer', maximum: 50 } },
      paths: {
        '/pets': {
          get: {
            operationId: 'pets',
            parameters: [{ $ref: '#/parameters/limit' }, { name: 'offset', in: 'query', type: 'integer' }],
            responses: { 200: { description: '', schema: list({ $ref: '#/definitions/Pet' }) } },
          },
        },
        '/feed': { get: { produces: ['application/xml'], responses: { 200: { schema: list(item) } } } },
      },
    };
    const { spec, resources, report } = imported(document);
    expect(spec).toMatchObject({
      http: { baseUrl: 'https://old.example/rest' },
      auth: { kind: 'api_key', name: 'X-Key' },
    });
    expect(resources['pets']).toMatchObject({
      primaryKey: ['pet_id'],
      request: { query: { limit: '{{ page.size }}' } },
      pagination: { kind: 'offset', size: 50, inject: { name: 'offset' } },
    });
    expect(report[1]).toMatchObject({ name: 'GET /feed', status: 'refused', reason: 'its response is no JSON' });
  });
});

describe('the records of a list', () => {
  it.each([
    ['the whole body', list(item), '$'],
    ['an envelope of a usual name', object({ data: list(item), meta: object({}) }), 'data'],
    [
      'the last segment of the path',
      object({ id: { type: 'string' }, things: list(item), owners: list(item) }),
      'things',
    ],
    ['an object inside another', object({ result: object({ items: list(item) }) }), 'result.items'],
    ['HAL', object({ _embedded: object({ things: list(item) }), _links: object({}) }), '_embedded.things'],
    ['the only list beside what describes pages', object({ total: { type: 'integer' }, parts: list(item) }), 'parts'],
    ['a composition', { allOf: [object({ total: { type: 'integer' } }), object({ data: list(item) })] }, 'data'],
    ['one of two forms', { oneOf: [list(item), { type: 'null' }] }, '$'],
  ])('are found in %s', (_, schema, records) => {
    expect(resourceOf(schema).response.records).toBe(records);
  });

  it('are not taken from the list of a single object', () => {
    const user = object({ id: { type: 'string' }, name: { type: 'string' }, roles: list(item) });
    const { report } = imported(
      documentOf({ '/fine': get(list(item)), '/user': get(user), '/users/{id}': get(object({ items: list(item) })) }),
    );
    expect(report).toHaveLength(1);
  });

  it('are refused where several lists could be meant', () => {
    const pages = { parameters: [query('page')] };
    expect(refusalOf('/x', get(object({ ones: list(item), twos: list(item) }), pages)).reason).toMatch(
      /several lists \(ones, twos\)/,
    );
  });

  it('have columns of the types of the document, without enums, and may lack what is not required', () => {
    const { validate, onInvalid } = resourceOf(
      list(
        object(
          {
            id: { type: 'string', format: 'uuid' },
            on: { type: 'string', format: 'date' },
            state: { enum: ['a', 'b'] },
            tags: list({ type: 'string' }),
            owner: { $ref: '#/paths/~1things' },
            secret: { type: 'string', writeOnly: true },
          },
          { required: ['id', 'state'] },
        ),
      ),
    );
    expect(onInvalid).toBe('quarantine');
    expect(validate.schema).toEqual({
      type: 'object',
      required: ['id', 'state'],
      properties: {
        id: { type: 'string', format: 'uuid' },
        on: { type: ['string', 'null'], format: 'date' },
        state: { type: 'string' },
        tags: { type: ['array', 'null'] },
        owner: {},
      },
    });
  });

  it('get columns that a table can have', () => {
    const { transform, validate } = resourceOf(
      list(object({ id: {}, 'created-at': {}, Id: {}, _run_id: {}, and: {}, "it's": {} })),
    );
    expect(Object.keys(validate.schema.properties)).toEqual(['id', 'created_at', 'Id_2', 'run_id', 'and']);
    expect(transform).toBe("{ 'id': id, 'created_at': `created-at`, 'Id_2': Id, 'run_id': _run_id, 'and': `and` }");
  });

  it('of JSON:API are lifted out of their attributes', () => {
    const resource = object({
      id: { type: 'string' },
      type: { type: 'string' },
      attributes: object({ title: { type: 'string' } }),
    });
    const { response, validate } = resourceOf(object({ data: list(resource) }));
    expect(response.map).toBe("$merge([{ 'id': id, 'type': type }, attributes, { 'id': id }])");
    expect(Object.keys(validate.schema.properties)).toEqual(['id', 'type', 'title']);
  });

  it.each([
    ['id', ['name', 'id', 'uuid']],
    ['uuid', ['code', 'uuid']],
    ['thingId', ['ownerId', 'thingId']],
    ['slug', ['name', 'slug']],
  ])('have the key %s of the fields %j', (key, names) => {
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
    expect(resourceOf(list(object(properties))).primaryKey).toEqual([key]);
  });

  it('are refused without a field that looks like a key', () => {
    const refusal = refusalOf('/x', get(list(object({ name: { type: 'string' }, id: object({}) }))));
    expect(refusal).toEqual({ path: 'paths./x.get', reason: expect.stringContaining('`primaryKey`') });
  });
});

describe('a guess', () => {
  it('is named in the description of its resource', () => {
    const since = { parameters: [query('page', { type: 'integer' }), query('updated_since')] };
    const { description } = resourceOf(
      list(object({ id: {}, updated_at: { type: 'string', format: 'date-time' } })),
      since,
    );
    expect(description).toBe(
      'GET /things. Guessed from names, check before use: primary key id; pagination page (page); incremental (updated_since and updated_at).',
    );
  });

  it.each([
    ['date-time', {}, 'datetime', 'iso'],
    ['date', {}, 'date', 'date'],
    ['date-time', { type: 'string', format: 'date' }, 'datetime', 'date'],
    ['date-time', { type: 'integer' }, 'datetime', 'epoch_s'],
  ])('of changes: a field of %s and a parameter of %j', (format, schema, type, sendAs) => {
    const record = object({ id: {}, modifiedAt: { type: 'string', format } });
    const { incremental, request } = resourceOf(list(record), { parameters: [query('modifiedSince', schema)] });
    expect(incremental).toMatchObject({ cursor: { field: 'modifiedAt', type, sendAs }, order: 'none' });
    expect(request.query).toEqual({ modifiedSince: '{{ window.from }}' });
  });

  it('of changes is not made from the time of creation, nor from a number', () => {
    const record = object({ id: {}, created_at: { type: 'string' }, updated_at: { type: 'integer' } });
    const parameters = [query('created_since'), query('updated_since')];
    expect(resourceOf(list(record), { parameters }).incremental).toBeUndefined();
  });
});
