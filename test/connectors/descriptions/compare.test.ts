import { describe, expect, it } from 'vitest';
import type { CatalogueConnector } from '../../../src/core/resources/catalogue.ts';
import { compareWithDescription } from './compare.ts';
import { openApiDescription } from './openapi.ts';

const spec = {
  metadata: { key: 'acme', name: 'Acme', version: '1.0.0' },
  http: { baseUrl: 'https://api.acme.example/v1' },
  resources: [
    {
      key: 'items',
      primaryKey: 'id',
      request: { path: '/lists/{{ params.list }}/items', query: { limit: 100 } },
      response: { records: 'data' },
    },
  ],
  connectionParams: [{ key: 'list', type: 'string' }],
  tests: [
    {
      name: 'reads',
      resource: 'items',
      params: { list: 'a' },
      mocks: [
        { request: { path: '/lists/a/items' }, respond: { body: { data: [{ id: 1, owner: { name: 'Ada' } }] } } },
      ],
      expect: {},
    },
  ],
};
const connector: CatalogueConnector = {
  ...{ key: 'acme', name: 'Acme', version: '1.0.0', description: '', tags: [], authKind: 'none' },
  ...{ resources: ['items'], readme: '', spec },
  verifiedAgainst: { kind: 'tests', statement: '', on: null },
};

const owner: object = { type: 'object', properties: { name: { type: 'string' } } };
const compared = ({ path = '/v1/lists/{list}/items', parameter = 'limit', ownerSchema = owner } = {}) => {
  const item = {
    type: 'object',
    properties: { id: { type: 'integer' }, owner: { $ref: '#/components/schemas/Owner' } },
  };
  const schema = { type: 'object', properties: { data: { type: 'array', items: item } } };
  const operation = {
    parameters: [{ in: 'query', name: parameter }],
    responses: { 200: { content: { 'application/json': { schema } } } },
  };
  const document = { paths: { [path]: { get: operation } }, components: { schemas: { Owner: ownerSchema } } };
  return compareWithDescription(connector, async () => openApiDescription('a document', document));
};

describe('the comparison of a connector with a description', () => {
  it('counts the operations, parameters and fields that both have', async () => {
    expect(await compared()).toEqual({ source: 'a document', operations: 1, parameters: 1, fields: 4 });
  });

  it('names a path, a parameter and a field that the description lacks', async () => {
    await expect(compared({ path: '/v1/items' })).rejects.toThrow('GET /v1/lists/a/items');
    await expect(compared({ parameter: 'size' })).rejects.toThrow('GET /v1/lists/a/items: parameter limit');
    const other = { type: 'object', properties: { title: { type: 'string' } } };
    await expect(compared({ ownerSchema: other })).rejects.toThrow('GET /v1/lists/a/items: field data[].owner.name');
  });
});
