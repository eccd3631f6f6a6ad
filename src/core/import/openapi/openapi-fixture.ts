/** For tests of the import of OpenAPI documents. */

import { checkSpec } from '../../spec/check/check.ts';
import type { ConnectorSpec } from '../../spec/schema/spec-schema.ts';
import { importOpenapi } from './openapi.ts';

type Json = Readonly<Record<string, unknown>>;

export const get = (schema: unknown, more: Json = {}): Json => ({
  get: { responses: { 200: { description: '', content: { 'application/json': { schema } } } }, ...more },
});

export const object = (properties: Json, more: Json = {}): Json => ({ type: 'object', properties, ...more });

export const list = (items: unknown): Json => ({ type: 'array', items });

export const query = (name: string, schema: Json = { type: 'string' }, more: Json = {}): Json => ({
  name,
  in: 'query',
  schema,
  ...more,
});

export const item = object({ id: { type: 'string' }, name: { type: 'string' } }, { required: ['id'] });

export const documentOf = (paths: Json, more: Json = {}): Json => ({
  openapi: '3.1.0',
  info: { title: 'Acme CRM', version: '7' },
  servers: [{ url: 'https://api.acme.example/v2' }],
  paths,
  ...more,
});

// oxlint-disable-next-line typescript/no-explicit-any -- parts of a draft, which tests compare
type Loose = any;

export function imported(document: unknown): {
  readonly spec: Loose;
  readonly checked: ConnectorSpec;
  readonly resources: Readonly<Record<string, Loose>>;
  readonly report: readonly Json[];
} {
  const { spec, report } = importOpenapi(document, {});
  const check = checkSpec(spec);
  if (!check.valid) throw new Error(JSON.stringify(check.issues));
  const resources = Object.fromEntries(check.spec.resources.map((resource) => [resource.key, resource]));
  return { spec, checked: check.spec, resources, report: report.map((one) => ({ ...one })) };
}

export const resourceOf = (schema: unknown, more: Json = {}): Loose =>
  imported(documentOf({ '/things': get(schema, more) })).resources['things'];

export function refusalOf(
  path: string,
  operation: Json,
  more: Json = {},
): { readonly path: unknown; readonly reason: unknown } {
  const { report } = imported(documentOf({ '/fine': get(list(item)), [path]: operation }, more));
  const [refused] = report.filter(({ status }) => status === 'refused');
  return { path: refused?.['path'], reason: refused?.['reason'] };
}
