import { type Description, literally, type Operation } from './description.ts';

type Json = Readonly<Record<string, unknown>>;
type Schema = Json | undefined;

/** Reads an OpenAPI document of version 3, or of version 2 whose paths are below `basePath`. */
export function openApiDescription(source: string, document: Json, basePath = ''): Description {
  const templates = Object.keys(objectAt(document, 'paths')).map((template) => ({
    template,
    pattern: new RegExp(
      `^${template
        .split(/\{[^}]*\}/)
        .map(literally)
        .join('[^/]+')}/?$`,
    ),
    literals: template.split('/').filter((segment) => segment !== '' && !segment.includes('{')).length,
  }));
  return {
    source,
    operation(method, wholePath) {
      const path = wholePath.slice(basePath.length);
      const [best] = templates
        .filter(({ pattern }) => pattern.test(path))
        .toSorted((one, other) => other.literals - one.literals);
      const item = best && objectAt(objectAt(document, 'paths'), best.template);
      const found = item && objectAt(item, method.toLowerCase());
      return found && Object.keys(found).length > 0 ? operationOf(document, item, found) : null;
    },
  };
}

function operationOf(document: Json, item: Json, operation: Json): Operation {
  const parameters = [...listAt(item, 'parameters'), ...listAt(operation, 'parameters')].map((one) =>
    resolve(document, one),
  );
  return {
    hasParameter: (name) =>
      parameters.some((one) => one?.['in'] === 'query' && parameterNames(document, one).includes(name)),
    unknownFields(status, body) {
      const responses = objectAt(operation, 'responses');
      const response = resolve(document, objectAt(responses, responses[String(status)] ? String(status) : 'default'));
      const [content = response] = Object.values(objectAt(response ?? {}, 'content'));
      return unknownIn(document, Object(content)['schema'], body, '');
    },
  };
}

/** A parameter of the style deepObject has a name for each of its properties; a list may have brackets. */
function parameterNames(document: Json, parameter: Json): readonly string[] {
  const name = String(parameter['name']);
  const fields = fieldsOf(document, Object(parameter['schema']));
  return [name, `${name}[]`, ...[...fields.properties.keys()].map((field) => `${name}[${field}]`)];
}

function unknownIn(document: Json, schema: Schema, value: unknown, at: string): readonly string[] {
  if (Array.isArray(value)) {
    const items = alternatives(document, schema).flatMap((one) => (one['items'] ? [Object(one['items'])] : []));
    return value.flatMap((item) => unknownIn(document, { anyOf: items }, item, `${at}[]`));
  }
  if (typeof value !== 'object' || value === null) return [];
  const { properties, open } = fieldsOf(document, schema);
  return Object.entries(value).flatMap(([name, field]) => {
    const path = at === '' ? name : `${at}.${name}`;
    const known = properties.get(name);
    if (known === undefined) return open ? [] : [path];
    return unknownIn(document, { anyOf: known }, field, path);
  });
}

interface Fields {
  readonly properties: ReadonlyMap<string, readonly Json[]>;
  /** Other names are allowed too. */
  readonly open: boolean;
}

function fieldsOf(document: Json, schema: Schema): Fields {
  const properties = new Map<string, Json[]>();
  const objects = alternatives(document, schema);
  for (const one of objects) {
    for (const [name, property] of Object.entries(objectAt(one, 'properties')))
      properties.set(name, [...(properties.get(name) ?? []), Object(property)]);
  }
  const isOpen = (one: Json) =>
    Boolean(one['additionalProperties']) || (one['type'] === 'object' && !one['properties']);
  return { properties, open: objects.some(isOpen) };
}

/** A schema and all that it is made of. */
function alternatives(document: Json, schema: Schema, depth = 0): readonly Json[] {
  const resolved = schema && resolve(document, schema);
  if (!resolved || depth > 12) return [];
  const inner = ['allOf', 'anyOf', 'oneOf'].flatMap((name) => listAt(resolved, name));
  return [resolved, ...inner.flatMap((one) => alternatives(document, one, depth + 1))];
}

function resolve(document: Json, value: Schema): Schema {
  const ref = value?.['$ref'];
  if (typeof ref !== 'string') return value;
  return resolve(
    document,
    ref
      .slice(2)
      .split('/')
      .reduce<Json>((place, step) => objectAt(place, step.replaceAll('~1', '/')), document),
  );
}

const objectAt = (value: Json, name: string): Json => Object(value[name] ?? {});
const listAt = (value: Json, name: string): readonly Json[] => (Array.isArray(value[name]) ? value[name] : []);
