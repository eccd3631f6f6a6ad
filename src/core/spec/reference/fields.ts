import { connectorSpecSchema, type Schema } from './json-schema.ts';

export interface Field {
  readonly name: string;
  /** The type in words, such as `text`, `template` or `list of RequestPattern`. */
  readonly type: string;
  readonly isRequired: boolean;
  readonly default: unknown;
  readonly meaning: string;
  /** A value that the validator accepts. */
  readonly example: unknown;
  /** Codes of issues besides `schema`. */
  readonly issues: readonly string[];
}

export interface Section {
  /** The place of the object, such as `resources[].pagination`. */
  readonly path: string;
  /** The value of the discriminator, such as `page`; `null` for an object without kinds. */
  readonly kind: string | null;
  readonly kindField: string;
  readonly about: string;
  readonly fields: readonly Field[];
}

/** Place of each named part; of several, the first (page.ts names the others). */
const places = {
  ConnectionParam: 'connectionParams[]',
  Auth: 'auth',
  HttpSettings: 'http',
  ErrorRule: 'http.errors[]',
  ResponseCondition: 'http.errors[].when',
  RequestTemplate: 'resources[].request',
  Lookup: 'lookups[]',
  Resource: 'resources[]',
  ResponseSettings: 'resources[].response',
  Pagination: 'resources[].pagination',
  Inject: 'resources[].pagination.inject',
  Shrink: 'resources[].pagination.shrink',
  Incremental: 'resources[].incremental',
  Enrichment: 'resources[].enrich[]',
  Target: 'resources[].target',
  DestinationSpec: 'destination',
  SpecTest: 'tests[]',
  RequestPattern: 'tests[].mocks[].request',
} as const;

/** The place of a named part; `undefined` for a type of text. */
export const placeOfPart = (name: string): string | undefined =>
  new Map<string, string>(Object.entries(places)).get(name);

/** Every object of a spec with its fields, in the order of the format. */
export function sectionsOfSpec(): readonly Section[] {
  const { $defs, ...root } = connectorSpecSchema();
  const named = Object.entries(places).flatMap(([name, path]) => sectionsAt(path, partOf($defs, name)));
  return [...sectionsAt('', root), ...named];
}

const partOf = (defs: unknown, name: string): Schema => Object(Reflect.get(Object(defs), name));

/** An object and its unnamed inner objects. */
function sectionsAt(path: string, schema: Schema): readonly Section[] {
  const kinds = kindsOf(schema);
  if (kinds.length > 0)
    return kinds.flatMap(({ key, kind, option }) => sectionOf(path, option, { kind, kindField: key }));
  return sectionOf(path, schema, { kind: null, kindField: '' });
}

function sectionOf(path: string, schema: Schema, kind: Pick<Section, 'kind' | 'kindField'>): readonly Section[] {
  const properties = Object.entries(Object(schema['properties'])) as readonly (readonly [string, Schema])[];
  const shown = properties.filter(([name]) => name !== kind.kindField && name !== 'orgId');
  const required = new Set(schema['required'] as readonly string[]);
  const about = textOf(kind.kind === null ? schema['description'] : aboutKind(schema, kind.kindField));
  const fields = shown.map(([name, field]) => fieldOf(path, name, field, required.has(name)));
  const inner = shown.flatMap(([name, field]) => innerSections(path === '' ? name : `${path}.${name}`, field));
  return [{ path, ...kind, about, fields }, ...inner];
}

const aboutKind = (schema: Schema, key: string): unknown =>
  Object(Reflect.get(Object(schema['properties']), key)).description;

function innerSections(path: string, schema: Schema): readonly Section[] {
  if (schema['type'] === 'array') return innerSections(`${path}[]`, Object(schema['items']));
  const inner = Object(schema['additionalProperties']);
  if (inner.type === 'object') return innerSections(`${path}.*`, inner);
  return kindsOf(schema).length > 0 || schema['properties'] !== undefined ? sectionsAt(path, schema) : [];
}

interface Kind {
  readonly key: string;
  readonly kind: string;
  readonly option: Schema;
}

function kindsOf({ properties, allOf }: Schema): readonly Kind[] {
  const [[key, choice] = ['', {}], ...others] = Object.entries(Object(properties));
  const kinds: readonly unknown[] = Object(choice).enum ?? [];
  if (others.length > 0 || !Array.isArray(allOf) || kinds.length !== allOf.length) return [];
  return kinds.map((kind, index) => ({ key, kind: String(kind), option: allOf[index].else }));
}

function fieldOf(path: string, name: string, schema: Schema, isRequired: boolean): Field {
  const { examples } = schema;
  return {
    name,
    type: typeOf(schema),
    isRequired,
    default: schema['default'],
    meaning: textOf(schema['description']),
    example: Array.isArray(examples) ? examples[0] : exampleOf(schema),
    issues: issuesOf(path, name, schema),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function exampleOf(schema: Schema): unknown {
  const choices = Array.isArray(schema['enum']) ? schema['enum'] : [];
  const other = choices.find((choice) => choice !== schema['default']);
  return schema['const'] ?? other ?? (schema['type'] === 'boolean' ? schema['default'] !== true : schema['default']);
}

function typeOf(schema: Schema): string {
  const { $ref, title, type, anyOf, items, additionalProperties } = schema;
  if (typeof $ref === 'string') return $ref === '#/$defs/FieldPath' ? 'dotted path' : ($ref.split('/').at(-1) ?? '');
  if (Array.isArray(schema['enum'])) return schema['enum'].map((value) => `\`${value}\``).join(', ');
  if ('const' in schema) return `\`${String(schema['const'])}\``;
  if (typeof title === 'string') return title;
  if (Array.isArray(anyOf)) return [...new Set(anyOf.map((option) => typeOf(option)))].join(' or ');
  if (type === 'array') return `list of ${typeOf(Object(items))}`;
  if (type === 'object' && Object.keys(Object(additionalProperties)).length > 0) {
    return `object of ${typeOf(Object(additionalProperties))}`;
  }
  const bounds = boundsOf(schema);
  const word = type === 'string' ? 'text' : textOf(type) || 'any JSON';
  return bounds === '' ? word : `${word}, ${bounds}`;
}

function boundsOf({ type, minimum, maximum, exclusiveMinimum }: Schema): string {
  if (type !== 'integer' && type !== 'number') return '';
  const isBound = (value: unknown): value is number =>
    typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER;
  const from = isBound(minimum) ? `from ${minimum}` : isBound(exclusiveMinimum) ? `more than ${exclusiveMinimum}` : '';
  return [from, isBound(maximum) ? `to ${maximum}` : ''].filter((part) => part !== '').join(' ');
}

/** Codes of cross-part rules, by the field they are about. */
function issuesOf(path: string, name: string, schema: Schema): readonly string[] {
  const text = JSON.stringify({ ...schema, examples: [], description: '' });
  const usesNames = /"title":"(?:template|expression)"/.test(text) ? ['unresolved_dependency'] : [];
  const isOwn = (paths: readonly string[]) => paths.includes(path);
  if (name === 'key' && isOwn(['connectionParams[]', 'resources[]'])) return ['duplicate_key'];
  if (name === 'table' && path.endsWith('target')) return ['duplicate_key'];
  if (name === 'schema' && path.endsWith('validate')) return ['duplicate_key'];
  if (name === 'assignTo' || name === 'as') return ['duplicate_assign_to'];
  if (name === 'dependsOn') return ['unresolved_dependency', 'cycle'];
  if (name === 'resource' && path.includes('forEach[]')) return ['unresolved_dependency', 'cycle'];
  if (name === 'lookups' && path.endsWith('changeDetection')) return ['unresolved_dependency'];
  return usesNames;
}
