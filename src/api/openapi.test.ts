import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { statusOf } from './errors.ts';
import { renderOpenApi } from './openapi.ts';
import { routes } from './routes/index.ts';

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
    expect(ids).toHaveLength(routes.length + 2);
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
      const statuses = [route.status, 401, 500, ...route.errors.map((code) => statusOf[code])].map(String);
      expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(statuses));
    },
  );

  it('refers to no schema that is missing', () => {
    const { schemas } = JSON.parse(text).components;
    for (const [, name] of text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g))
      expect(schemas).toHaveProperty(name ?? '');
  });

  it('never promises a secret in a response', () => {
    const { ConnectionRow, ApiKeyRow } = JSON.parse(text).components.schemas;
    expect(Object.keys(ConnectionRow.properties)).not.toContain('secrets');
    expect(Object.keys(ApiKeyRow.properties)).not.toContain('key');
  });
});
