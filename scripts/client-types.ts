/**
 * Own generator, as others need TypeScript 5 or 6 beside ours:
 * docs/adr/0048-a-reference-and-a-client-from-one-document.md.
 */
import { renderOpenApi } from '../src/api/openapi/openapi.ts';

type Schema = Readonly<Record<string, unknown>>;

interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: Schema;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

interface Document {
  readonly paths: Paths;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const json = 'application/json';
const header = '// Written by `npm run generate` from the OpenAPI document of the service. Do not edit.\n';

/** The text of `clients/typescript/src/api.gen.ts`. */
export function renderClientTypes(): string {
  const { paths, webhooks, components } = renderOpenApi() as unknown as Document;
  const operations = operationsOf(paths);
  const keyed = operations.filter(([, { parameters = [] }]) => parameters.some(isKey)).map(([name]) => name);
  return [
    header,
    ...Object.entries(components.schemas).map(([name, schema]) => namedType(name, schema)),
    '/** What each operation takes and what it responds with. */',
    `export interface Operations ${block(operations.map(([name, operation]) => operationType(name, operation)))}\n`,
    '/** What an event is about, by its type. */',
    `export interface EventData ${block(Object.entries(webhooks).map(([type, { post }]) => eventType(type, post)))}\n`,
    '/** The operations that honour `Idempotency-Key`. */',
    `export const keyedOperations: ReadonlySet<string> = new Set([\n${keyed.map((name) => `  ${quoted(name)},\n`).join('')}]);\n`,
  ].join('\n');
}

/** Without the probes, which are outside the versioned base. */
const operationsOf = (paths: Paths): readonly (readonly [name: string, operation: Operation])[] =>
  Object.entries(paths)
    .filter(([, item]) => !('servers' in item))
    .flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
    );

const isKey = ({ $ref = '' }: Parameter): boolean => $ref.endsWith('/IdempotencyKey');

function namedType(name: string, schema: Schema): string {
  const type = typeOf(schema);
  const declared = type.startsWith('{') && type.endsWith('}') && !type.includes('} |');
  return `${comment(schema['description'])}export ${declared ? `interface ${name}` : `type ${name} =`} ${type}${declared ? '' : ';'}\n`;
}

function operationType(name: string, { summary, description, parameters = [], ...operation }: Operation): string {
  const { requestBody, responses } = operation;
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content?.[json]?.schema;
  const members = [
    ...parametersType('params', 'path', parameters),
    ...parametersType('query', 'query', parameters),
    ...(requestBody ? [`body${requestBody.required ? '' : '?'}: ${bodyType(requestBody.content)};`] : []),
    `response: ${success ? typeOf(success) : 'unknown'};`,
  ];
  return `${comment([`${summary}.`, description].filter(Boolean).join('\n\n'))}${quoted(name)}: ${block(members)};`;
}

function parametersType(member: string, place: string, parameters: readonly Parameter[]): readonly string[] {
  const here = parameters.filter((parameter) => parameter.in === place);
  if (here.length === 0) return [];
  const optional = here.every(({ required }) => !required);
  const members = here.map(
    ({ name, required, schema }) =>
      `${comment(schema['description'])}${name}${required ? '' : '?'}: ${place === 'path' ? 'string' : typeOf(schema)};`,
  );
  return [`${member}${optional ? '?' : ''}: ${block(members)};`];
}

const bodyType = (content: Content): string =>
  [typeOf(content[json]?.schema ?? {}), ...(content['application/yaml'] ? ['string'] : [])].join(' | ');

function eventType(type: string, { summary, requestBody }: Operation): string {
  const [, own] = (requestBody?.content[json]?.schema['allOf'] ?? []) as readonly Schema[];
  const { data = {} } = (own?.['properties'] ?? {}) as Readonly<Record<string, Schema>>;
  return `${comment(summary)}${quoted(type)}: ${typeOf(data)};`;
}

/** Throws for an unknown keyword, so that none is lost. */
function typeOf(schema: Schema): string {
  for (const keyword of Object.keys(schema)) if (!known.has(keyword)) throw new Error(`No type for ${keyword}`);
  const { $ref, const: constant, enum: values, anyOf, oneOf, allOf, type } = schema;
  if (typeof $ref === 'string') return $ref.slice($ref.lastIndexOf('/') + 1);
  if ('const' in schema) return literal(constant);
  if (Array.isArray(values)) return union(values.map(literal));
  if (Array.isArray(anyOf ?? oneOf)) return union(((anyOf ?? oneOf) as readonly Schema[]).map(typeOf));
  if (Array.isArray(allOf)) return (allOf as readonly Schema[]).map((one) => `(${typeOf(one)})`).join(' & ');
  if (Array.isArray(type)) return union(type.map((one) => typeOf({ ...schema, type: one })));
  if (type === 'array') return arrayOf(typeOf((schema['items'] ?? {}) as Schema));
  if (type === 'object') return objectType(schema);
  if (type === 'integer') return 'number';
  return typeof type === 'string' ? type : 'unknown';
}

/** Types express the form of a value, not its limits. */
const limits = ['pattern', 'format', 'minimum', 'maximum', 'exclusiveMinimum', 'minLength', 'maxLength', 'minItems'];
const words = ['description', 'default', 'examples', 'maxItems', 'propertyNames', '$comment'];
const forms = ['$ref', 'const', 'enum', 'anyOf', 'oneOf', 'allOf', 'type', 'items', 'properties', 'required'];
const known = new Set([...limits, ...words, ...forms, 'additionalProperties', 'patternProperties']);

function objectType({ properties = {}, required = [], additionalProperties, patternProperties = {} }: Schema): string {
  const members = Object.entries(properties as Readonly<Record<string, Schema>>).map(([name, schema]) => {
    const optional = (required as readonly string[]).includes(name) ? '' : '?';
    return `${comment(schema['description'])}${/^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)}${optional}: ${typeOf(schema)};`;
  });
  const others = Object.entries(patternProperties as Readonly<Record<string, Schema>>).map(([pattern, schema]) => {
    if (!/^\^[\w-]+$/.test(pattern)) throw new Error(`No type for the names ${pattern}`);
    return `[name: \`${pattern.slice(1)}\${string}\`]: ${typeOf(schema)};`;
  });
  if (typeof additionalProperties === 'object' && additionalProperties !== null) {
    const values = members.length > 0 ? 'unknown' : typeOf(additionalProperties as Schema);
    others.push(`[name: string]: ${values};`);
  }
  return members.length + others.length === 0 ? 'Record<string, never>' : block([...members, ...others]);
}

const arrayOf = (item: string): string => (/[|&]/.test(item) && !item.startsWith('{') ? `(${item})[]` : `${item}[]`);
const union = (types: readonly string[]): string => [...new Set(types)].join(' | ');
const literal = (value: unknown): string => (typeof value === 'string' ? quoted(value) : JSON.stringify(value));
const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;

const block = (members: readonly string[]): string =>
  `{\n${members.map((member) => `${indented(member)}\n`).join('')}}`;
const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, '  ');

function comment(text: unknown): string {
  if (typeof text !== 'string') return '';
  const lines = text.replaceAll('*/', '*\u200B/').split('\n');
  if (lines.length === 1) return `/** ${text.replaceAll('*/', '*\u200B/')} */\n`;
  return `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join('\n')}\n */\n`;
}
