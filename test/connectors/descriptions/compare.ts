import type { CatalogueConnector } from '../../../src/core/resources/catalogue.ts';
import { checkSpec } from '../../../src/core/spec/check/check.ts';
import type { ConnectorSpec } from '../../../src/core/spec/schema/spec-schema.ts';
import type { Compared } from '../figures.ts';
import { eachField, type LoadDescription, literally } from './description.ts';

/** A request of the spec and the responses to it in the tests of the spec. */
interface Use {
  readonly method: string;
  /** Concrete ones, as the tests have them, below the base address. */
  readonly paths: readonly string[];
  readonly parameters: readonly string[];
  readonly responses: readonly { readonly status: number; readonly body: unknown }[];
}

/** Looks for every path, query parameter and field that a spec and its tests use. Throws for what is not described. */
export async function compareWithDescription(connector: CatalogueConnector, load: LoadDescription): Promise<Compared> {
  const { source, operation } = await load();
  const checked = checkSpec(connector.spec);
  if (!checked.valid) throw new Error('the spec is not valid');
  const base = basePathOf(checked.spec);
  const missing = new Set<string>();
  const counts = { operations: new Set<string>(), parameters: new Set<string>(), fields: new Set<string>() };
  for (const { method, paths, parameters, responses } of usesOf(checked.spec)) {
    const [path = ''] = paths;
    const name = `${method} ${base}${path}`;
    const found = operation(method, `${base}${path}`);
    if (found === null) {
      missing.add(name);
      continue;
    }
    counts.operations.add(name);
    for (const parameter of parameters) {
      if (found.hasParameter(parameter)) counts.parameters.add(`${name} ${parameter}`);
      else missing.add(`${name}: parameter ${parameter}`);
    }
    for (const { status, body } of responses) {
      for (const field of found.unknownFields(status, body)) missing.add(`${name}: field ${field}`);
      eachField(body, (field) => Boolean(counts.fields.add(`${name} ${field}`)));
    }
  }
  if (missing.size > 0) throw new Error(`not in ${source}:\n  ${[...missing].join('\n  ')}`);
  const { operations, parameters, fields } = counts;
  return { source, operations: operations.size, parameters: parameters.size, fields: fields.size };
}

/** The path of `http.baseUrl` without its host. */
const basePathOf = ({ http }: ConnectorSpec): string =>
  (http.baseUrl ?? '')
    .replace(/^https?:\/\//, '')
    .replace(/^(\{\{.*?\}\}|[^/{])*/, '')
    .replace(/\/$/, '');

function usesOf(spec: ConnectorSpec): readonly Use[] {
  const shared = namesOf(spec.http.query);
  return spec.resources.flatMap((resource) => {
    const { request, pagination, deletes, enrich } = resource;
    const listed = deletes.mode === 'endpoint' ? [{ request: deletes.request, pagination: deletes.pagination }] : [];
    return [
      { request, pagination },
      ...listed,
      ...enrich.map((one) => ({ request: one.request, pagination: null })),
    ].map((used): Use => {
      const mocks = mocksOf(spec, resource.key, used.request);
      return {
        method: used.request.method,
        paths: mocks.flatMap(({ request: { path } }) => (path === undefined ? [] : [path])),
        parameters: [
          ...shared,
          ...namesOf(used.request.query),
          ...injected(used.pagination),
          ...graphqlNames(used.request),
        ],
        responses: mocks.flatMap(({ respond }) =>
          respond.status === 200 && typeof respond.body === 'object' ? [{ status: 200, body: respond.body }] : [],
        ),
      };
    });
  });
}

type Request = ConnectorSpec['resources'][number]['request'];

/** Mocks of a request in the tests of a resource. */
function mocksOf(spec: ConnectorSpec, resourceKey: string, { method, path = '' }: Request) {
  const pattern = path
    .split(/(\{\{\{.*?\}\}\}|\{\{.*?\}\})/)
    .map((part) => (part.startsWith('{{{') ? '.+' : part.startsWith('{{') ? '[^/]+' : literally(part)))
    .join('');
  const mocks = spec.tests.filter(({ resource }) => resource === resourceKey).flatMap((test) => test.mocks);
  const whole = new RegExp(`^${pattern}$`);
  return mocks.filter(({ request }) => whole.test(request.path ?? '') && (request.method ?? method) === method);
}

const injected = (pagination: ConnectorSpec['resources'][number]['pagination'] | null): readonly string[] =>
  pagination !== null && 'inject' in pagination && pagination.inject.in === 'query' ? [pagination.inject.name] : [];

/** Fields, arguments and types of a GraphQL query, without its own variables. */
const graphqlNames = ({ body }: Request): readonly string[] =>
  (body?.graphql?.query.match(/(?<![$\w])[A-Za-z]\w*/g) ?? []).filter((word) => word !== 'query');

/** Names of query parameters as they are sent: `created[gte]`. */
const namesOf = (query: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.entries(query).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.keys(value).map((inner) => `${name}[${inner}]`)
      : [name],
  );
