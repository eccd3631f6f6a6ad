import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { specDocument } from '../../../test/support/upstream/api-fixtures.ts';
import { eventTypes } from '../../core/resources/event-types.ts';
import { statusOf } from '../errors.ts';
import { routes } from '../routes/index.ts';
import { renderOpenApi } from './openapi.ts';

/** Whether a document is what the schema of that name describes. */
function conforms(name: string, value: unknown): boolean {
  const ajv = new Ajv2020({ strict: false, formats: { uri: true, 'date-time': true } });
  ajv.addSchema({ $id: 'api', components: JSON.parse(text).components });
  return ajv.validate({ $ref: `api#/components/schemas/${name}` }, value);
}

const text = JSON.stringify(renderOpenApi());
const operationsOf = (path: string): Record<string, unknown> => JSON.parse(text).paths[path.replace(/:(\w+)/g, '{$1}')];

describe('OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(JSON.parse(text));
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
    expect(validator.version).toBe('3.1');
  });

  it('describes every endpoint, and no operation twice', () => {
    for (const { method, path } of routes) expect(operationsOf(path)).toHaveProperty(method);
    const ids = [...text.matchAll(/"operationId":"(\w+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toHaveLength(routes.length + 2 + eventTypes.length);
  });

  it.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    'gives %s its parameters, its success and its errors',
    (_name, route) => {
      const operation = operationsOf(route.path)[route.method] as {
        parameters: { name: string; in: string }[];
        responses: Record<string, unknown>;
      };
      const inPath = operation.parameters.filter(({ in: place }) => place === 'path').map(({ name }) => name);
      expect(inPath).toEqual([...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name));
      const ofInput = route.body || route.query ? [400] : [];
      const statuses = [route.status, 401, 500, 503, ...ofInput, ...route.errors.map((code) => statusOf[code])].map(
        String,
      );
      expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(statuses));
    },
  );

  it('has the validation error of a body or a query from one place: no route with one names it', () => {
    const withInput = routes.filter(({ body, query }) => body || query);
    expect(withInput.filter(({ errors }) => errors.includes('validation')).map(({ path }) => path)).toEqual([]);
  });

  it('refers to no part that is missing, and has no part that nothing refers to', () => {
    const { securitySchemes: _schemes, ...components } = JSON.parse(text).components;
    const parts = Object.entries(components).flatMap(([kind, named]) =>
      Object.keys(named as object).map((name) => `#/components/${kind}/${name}`),
    );
    const referred = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref);
    expect(new Set(referred)).toEqual(new Set(parts));
  });

  it('has each error response once', () => {
    const names = Object.keys(JSON.parse(text).components.responses);
    expect(names).toEqual(expect.arrayContaining(['Unauthorized', 'Conflict', 'ValidationOfBody']));
    const [, paths = ''] = /"paths":(.*),"webhooks":/.exec(text) ?? [];
    expect(paths).not.toContain('#/components/schemas/ErrorBody');
  });

  it('has different examples for a validation error and for an error without a code', () => {
    const { $ref } = JSON.parse(text).paths['/connections'].post.responses['400'];
    expect($ref).toBe('#/components/responses/ValidationOfBody');
    const { examples } = JSON.parse(text).components.responses.ValidationOfBody.content['application/json'];
    expect(examples.validation.value.error).toMatchObject({ code: 'validation', issues: [{ path: 'displayName' }] });
    expect(examples['without code'].value.error).not.toHaveProperty('code');
  });

  it('never promises a secret in a response', () => {
    const { ConnectionRow, ApiKeyRow } = JSON.parse(text).components.schemas;
    expect(Object.keys(ConnectionRow.properties)).not.toContain('secrets');
    expect(Object.keys(ApiKeyRow.properties)).not.toContain('key');
  });
});

describe('the schema of a ConnectorSpec in the document', () => {
  const valid = specDocument();

  it('takes a spec, notes of its author and an org id', () => {
    expect(conforms('ConnectorSpec', { ...valid, 'x-note': 1, orgId: 'org_1' })).toBe(true);
    const [item] = valid.resources;
    for (const primaryKey of ['id', ['id', 'site']]) {
      expect(conforms('ConnectorSpec', { ...valid, resources: [{ ...item, primaryKey }] })).toBe(true);
    }
  });

  it('refuses a typing error, a wrong kind and a missing part', () => {
    expect(conforms('ConnectorSpec', { ...valid, resorces: [] })).toBe(false);
    expect(conforms('ConnectorSpec', { ...valid, auth: { kind: 'magic' } })).toBe(false);
    expect(conforms('ConnectorSpec', { ...valid, metadata: undefined })).toBe(false);
  });
});
