import { afterAll, describe, expect, test } from 'vitest';
import { createTestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { imported, mock, refusalOf, resourceOf, runImported, streamOf } from './airbyte-fixture.ts';

const evaluator = createTestEvaluator();
const run = runImported(evaluator);
afterAll(() => evaluator[Symbol.asyncDispose]());

describe('an import of a manifest', () => {
  test('makes a resource of each stream and reports them in the order of the document', () => {
    const custom = streamOf({ stream: { name: 'odd', retriever: { type: 'CustomRetriever', class_name: 'a.B' } } });
    const { spec, report } = imported([custom, streamOf()]);
    expect(report).toEqual([
      {
        name: 'odd',
        status: 'refused',
        path: 'streams.0.retriever',
        reason: expect.stringContaining('CustomRetriever has no counterpart'),
      },
      { name: 'items', status: 'converted', path: null, reason: null },
    ]);
    expect(spec).toMatchObject({
      metadata: { key: 'acme' },
      http: { baseUrl: 'https://api.test/v1' },
      resources: [{ key: 'items', primaryKey: ['id'], request: { path: '/items' }, response: { records: 'data' } }],
    });
  });

  test('reads the records that the manifest reads', async () => {
    const issues = await run(imported([streamOf()]), {
      mocks: [mock('/items', { data: [{ id: 1 }, { id: 2 }] })],
      expect: { delivered: [{ id: 1 }, { id: 2 }], requests: 1 },
    });
    expect(issues).toEqual([]);
  });

  test('names the place of a referred component in the document', () => {
    const definitions = { auth: { type: 'CustomAuthenticator', class_name: 'a.B' } };
    const result = imported([streamOf({ requester: { authenticator: '#/definitions/auth' } })], { definitions });
    expect(refusalOf(result)).toEqual(['definitions.auth', expect.stringContaining('CustomAuthenticator')]);
    expect(() => resourceOf(result)).toThrow('CustomAuthenticator');
  });

  test('leaves out the rules of a value that the spec cannot have, and keeps the stream', () => {
    const properties = {
      token: { type: 'string', pattern: '(?=a)b' },
      name: { type: 'string', enum: ['a'], default: 'b' },
    };
    const request_parameters = { a: "{{ config['token'] }}", b: "{{ config['name'] }}" };
    const { spec, report } = imported([streamOf({ requester: { request_parameters } })], {
      spec: { type: 'Spec', connection_specification: { properties } },
    });
    expect(report).toMatchObject([{ status: 'converted' }]);
    expect(spec).toMatchObject({ connectionParams: [{ key: 'token', type: 'string' }, { key: 'name' }] });
    expect(JSON.stringify(spec)).not.toContain('pattern');
  });

  test('without a stream that can be converted has a spec without resources', () => {
    const { spec, report } = imported([{ type: 'DeclarativeStream', name: 'a' }]);
    expect(spec).toMatchObject({ resources: [] });
    expect(report).toMatchObject([{ name: 'a', status: 'refused' }]);
  });
});
