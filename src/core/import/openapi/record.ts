import type { JsonObject } from '../../json/json-object.ts';
import { isColumnName } from '../../json/property-names.ts';
import { Refusal } from '../refusal.ts';
import { type OpenapiDocument, own } from './document.ts';
import { identifier, plainName, step, type TakenNames, unique } from './names.ts';
import type { ReadShape, Shape } from './shape.ts';

/** A record of a list: an item of the response, or the result of `map`. */
export interface RecordShape {
  readonly shape: Shape;
  /** The expression that makes a record of an item; `null` when they are the same. */
  readonly map: string | null;
  readonly byName: ReadonlyMap<string, { readonly name: string; readonly schema: unknown }>;
}

/** Most fields of a record; a table has no more columns. */
const fieldsMax = 1000;

/** Reads each schema once. Throws a {@link Refusal} for records with too many fields. */
export function createRecords(read: ReadShape): (item: unknown) => RecordShape {
  const known = new WeakMap<Shape, RecordShape>();
  return (item) => {
    const shape = read(item);
    const record = known.get(shape) ?? withNames(recordOf(shape, read));
    known.set(shape, record);
    return record;
  };
}

function withNames(record: Omit<RecordShape, 'byName'>): RecordShape {
  const { properties } = record.shape;
  if (properties.size > fieldsMax) throw new Refusal(`its records have more than ${fieldsMax} fields`);
  const byName = new Map([...properties].map(([name, schema]) => [plainName(name), { name, schema }]));
  return { ...record, byName };
}

/** Makes the attributes of JSON:API fields of the record. */
function recordOf(shape: Shape, read: ReadShape): Omit<RecordShape, 'byName'> {
  const { properties, required } = shape;
  const attributes = read(properties.get('attributes'));
  const isResource = properties.has('id') && properties.has('type') && attributes.properties.size > 0;
  if (!isResource) return { shape, map: null };
  const outer = ['id', 'type', 'relationships'].filter((name) => properties.has(name));
  const lifted = [...attributes.properties].filter(([name]) => name !== 'id');
  return {
    shape: {
      ...shape,
      properties: new Map([...outer.map((name) => [name, properties.get(name)] as const), ...lifted]),
      required: new Set([...['id', 'type'].filter((name) => required.has(name)), ...attributes.required]),
    },
    map: `$merge([{ ${outer.map((name) => `'${name}': ${name}`).join(', ')} }, attributes, { 'id': id }])`,
  };
}

export interface RecordRules {
  readonly schema: JsonObject;
  /** Renames fields for columns; `null` if all names already fit. */
  readonly transform: string | null;
}

/** Characters of all field names: an expression with all of them must not be too long. */
const namesLengthMax = 20_000;
/** Columns that a document describes; further fields get theirs from the first value. */
const columnsMax = 300;

/** The schema of a record: the types of fields, without what vendors change unannounced (enums, lengths, patterns). */
export function rulesOf(
  { shape }: RecordShape,
  {
    added,
    read,
    document,
  }: { readonly added: readonly string[]; readonly read: ReadShape; readonly document: OpenapiDocument },
): RecordRules {
  const taken = new Map<string, number>();
  const fields = [...shape.properties]
    .slice(0, columnsMax)
    .filter(([name, schema]) => own(document.objectOf(schema), 'writeOnly') !== true && !added.includes(name))
    .map(([name, schema]) => ({ name, column: columnOf(name, taken), schema, source: step(name) }));
  const named = fields.filter(({ source }) => source !== null);
  const isRenamed = fields.some(({ name, column, source }) => name !== column || source === null);
  if (fields.reduce((length, { name }) => length + name.length, 0) > namesLengthMax)
    throw new Refusal('the names of its fields are too long');
  const sources = [...named.map(({ column, source }) => [column, source]), ...added.map((name) => [name, name])];
  const properties = named.map(({ name, column, schema }) => {
    const isRequired = shape.required.has(name);
    return { column, isRequired, schema: fieldSchema(read(schema), isRequired) };
  });
  return {
    schema: {
      type: 'object',
      required: properties.filter(({ isRequired }) => isRequired).map(({ column }) => column),
      properties: {
        ...Object.fromEntries(properties.map(({ column, schema }) => [column, schema])),
        ...Object.fromEntries(added.map((name) => [name, {}])),
      },
    },
    transform: isRenamed ? `{ ${sources.map(([column, source]) => `'${column}': ${source}`).join(', ')} }` : null,
  };
}

const columnOf = (name: string, taken: TakenNames): string =>
  unique(isColumnName(name) ? name : identifier(name, 'field'), taken);

/** A field that may be missing may be null too: APIs do not tell the two apart as their documents do. */
function fieldSchema({ types, nullable, format }: Shape, isRequired: boolean): JsonObject {
  if (types.size === 0) return {};
  const names = [...types, ...(nullable || !isRequired ? ['null'] : [])];
  const isText = types.size === 1 && types.has('string');
  const isKept = isText && format !== null && ['date-time', 'date', 'uuid'].includes(format);
  return { type: names.length === 1 ? names[0] : names, ...(isKept ? { format } : {}) };
}
