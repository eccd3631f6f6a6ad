import { isJsonObject } from '../json/is-json-object.ts';
import type { JsonObject } from '../json/json-object.ts';
import { prepareSchema, resolveReference, type Schema } from './document.ts';
import { takesTooLong } from './record-work.ts';

/**
 * Creates the coercion of a JSON Schema: `"12"` to 12 where a number is wanted, `"true"` to true, numbers and booleans
 * to text. Never with loss: `"012"`, `""` and numbers beyond a double stay unchanged for the validator to check, as
 * does a record that takes too long. Unchanged values are not copied. Throws `AppError` `spec_invalid` for an invalid
 * schema.
 */
export function createCoerce(document: unknown): (record: JsonObject) => JsonObject {
  const { schema: root, cost } = prepareSchema(document, { bigIntegers: false });

  const coerce = (value: unknown, schema: Schema): unknown => {
    if (typeof schema === 'boolean') return value;
    const { allOf, $ref } = schema;
    const parts = [...schemasIn(allOf), ...($ref === undefined ? [] : [resolveReference($ref, root)])];
    const whole = parts.reduce(coerce, coerceScalar(value, schema['type']));
    if (Array.isArray(whole)) return coerceItems(whole, schema);
    return isJsonObject(whole) ? coerceProperties(whole, schema) : whole;
  };

  const coerceProperties = (value: JsonObject, { properties, additionalProperties }: JsonObject): JsonObject => {
    const named = isJsonObject(properties) ? properties : {};
    const changed = Object.entries(value).flatMap(([name, child]) => {
      const schema = Object.hasOwn(named, name) ? named[name] : additionalProperties;
      const coerced = isSchema(schema) ? coerce(child, schema) : child;
      return coerced === child ? [] : [[name, coerced] as const];
    });
    return changed.length === 0 ? value : { ...value, ...Object.fromEntries(changed) };
  };

  const coerceItems = (values: readonly unknown[], { items, prefixItems }: JsonObject): readonly unknown[] => {
    const first = schemasIn(prefixItems ?? items);
    const coerced = values.map((value, index) => {
      const schema = first[index] ?? items;
      return isSchema(schema) ? coerce(value, schema) : value;
    });
    return coerced.every((value, index) => value === values[index]) ? values : coerced;
  };

  return (record) => {
    if (takesTooLong(record, cost)) return record;
    const coerced = coerce(record, root);
    return isJsonObject(coerced) ? coerced : record;
  };
}

const isSchema = (value: unknown): value is Schema => typeof value === 'boolean' || isJsonObject(value);

const schemasIn = (value: unknown): readonly Schema[] => (Array.isArray(value) ? value.filter(isSchema) : []);

function coerceScalar(value: unknown, type: unknown): unknown {
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  if (type === undefined || types.includes(typeOf(value)) || (Number.isInteger(value) && types.includes('integer'))) {
    return value;
  }
  const found = types.map((wanted) => conversions.get(wanted)?.(value)).find((converted) => converted !== undefined);
  return found ?? value;
}

const typeOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

/** Conversions by the wanted type; `undefined` when one would lose information. */
const conversions: ReadonlyMap<unknown, (value: unknown) => unknown> = new Map<unknown, (value: unknown) => unknown>([
  ['integer', (value) => (typeof value === 'string' && isInteger(value) ? Number(value) : undefined)],
  ['number', (value) => (typeof value === 'string' && isNumber(value) ? Number(value) : undefined)],
  ['boolean', (value) => (value === 'true' ? true : value === 'false' ? false : undefined)],
  ['string', (value) => (typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined)],
]);

const isInteger = (text: string): boolean => /^(0|-?[1-9]\d{0,15})$/.test(text) && Number.isSafeInteger(Number(text));

/** A JSON number of at most 15 significant digits: every such decimal survives a round trip through a double. */
function isNumber(text: string): boolean {
  const parts = /^-?(0|[1-9]\d*)(?:\.(\d+))?(?:[eE][+-]?\d{1,2})?$/.exec(text);
  if (parts === null) return false;
  const digits = `${parts[1]}${parts[2] ?? ''}`.replace(/^0+/, '').replace(/0+$/, '');
  return digits.length <= 15;
}
