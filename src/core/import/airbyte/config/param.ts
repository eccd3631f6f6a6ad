import { type Definition } from './definitions.ts';

const formats: ReadonlySet<unknown> = new Set(['date', 'date-time', 'email', 'uuid']);

export function toParam(key: string, { schema, required }: Definition): Readonly<Record<string, unknown>> {
  const type = typeOf(schema);
  const secret = schema['airbyte_secret'] === true;
  const { title, description, pattern, format, minimum, maximum } = schema;
  const isText = type === 'string' || type === 'string_list';
  const allowed = schema['const'] === undefined ? schema['enum'] : [schema['const']];
  const fallback = schema['default'];
  return {
    key,
    type,
    ...(typeof title === 'string' ? { label: cut(title, 200) } : {}),
    ...(typeof description === 'string' ? { description: cut(description.replaceAll(/<[^<>]*>/g, ''), 1000) } : {}),
    ...(required && fallback === undefined ? {} : { required: secret ? required : false }),
    ...(secret ? { secret } : {}),
    ...(!secret && fallback !== undefined && fallback !== null ? { default: fallback } : {}),
    ...(Array.isArray(allowed) && allowed.length > 0 && type !== 'string_list' ? { enum: allowed } : {}),
    ...(isText && typeof pattern === 'string' ? { pattern } : {}),
    // A pattern says more than the format beside it: some allow days where the format asks for times.
    ...(type === 'string' && pattern === undefined && formats.has(format) ? { format } : {}),
    ...(isNumber(type) && typeof minimum === 'number' ? { min: minimum } : {}),
    ...(isNumber(type) && typeof maximum === 'number' ? { max: maximum } : {}),
  };
}

const isNumber = (type: string): boolean => type === 'integer' || type === 'number';
const cut = (text: string, length: number): string => text.trim().slice(0, length);

function typeOf(schema: Readonly<Record<string, unknown>>): string {
  const { type } = schema;
  const [name, ...others] = (Array.isArray(type) ? type : [type]).filter((item) => item !== 'null');
  if (others.length > 0) return 'json';
  if (name === 'integer' || name === 'number' || name === 'boolean') return name;
  if (name === 'array') return itemType(schema['items']) === 'string' ? 'string_list' : 'json';
  return name === 'object' ? 'json' : 'string';
}

const itemType = (items: unknown): unknown =>
  typeof items === 'object' && items !== null && 'type' in items ? items.type : undefined;
