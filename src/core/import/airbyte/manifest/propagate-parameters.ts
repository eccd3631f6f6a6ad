import { isJsonObject } from '../../../json/is-json-object.ts';
import { asText } from '../objects.ts';
import { customTypes, defaultTypes } from './component-types.ts';
import type { Origins } from './origins.ts';

type Values = Readonly<Record<string, unknown>>;

const parametersKey = '$parameters';
/** Schemas have their own fields called `type`; the importer does not read them. */
const unread: ReadonlySet<string> = new Set(['schema_loader', parametersKey]);

interface Options {
  readonly parameters: Values;
  readonly origins: Origins;
  /** Whether parameters of the components above replace a component's own of the same name; false by default. */
  readonly parentsWin?: boolean;
}

/**
 * A missing or empty field takes the parameter of its name, and the component keeps all parameters for its expressions.
 * The CDK's `ManifestComponentTransformer` does the same. The input stays unchanged.
 */
export function propagateParameters(field: string, component: Values, options: Options): Record<string, unknown> {
  const { origins } = options;
  const { [parametersKey]: own, ...fields } = component;
  const result: Record<string, unknown> = { ...fields };
  const keys = new Map(origins.keysOf(component));
  const done = (): Record<string, unknown> => {
    origins.note(result, origins.pathOf(component), keys);
    return result;
  };
  if (result['type'] === undefined) {
    const found = result['class_name'] === undefined ? defaultTypes[field] : customTypes[field];
    if (found !== undefined) result['type'] = found;
  }
  const ownParameters = isJsonObject(own) ? own : {};
  const parameters: Values = options.parentsWin
    ? { ...ownParameters, ...options.parameters }
    : { ...options.parameters, ...ownParameters };
  if (isSchema(result['type'])) return done();
  if (result['type'] === undefined) {
    propagateInto(result, field, { ...options, parameters, onlyComponents: true });
    return done();
  }
  for (const [key, value] of Object.entries(parameters)) {
    if (isEmpty(result[key])) {
      result[key] = value;
      keys.set(key, origins.pathAt(component, parametersKey));
    }
  }
  propagateInto(result, asText(result['type']), { ...options, parameters, onlyComponents: false });
  if (Object.keys(parameters).length > 0) result[parametersKey] = parameters;
  return done();
}

function propagateInto(
  result: Record<string, unknown>,
  owner: string,
  options: Options & { readonly onlyComponents: boolean },
): void {
  const { onlyComponents, parameters, ...others } = options;
  const { origins } = others;
  for (const [key, value] of Object.entries(result)) {
    if (unread.has(key)) continue;
    // A parameter of the same name would be put into the value endlessly.
    const { [key]: _, ...below } = parameters;
    const inner = { ...others, parameters: below };
    const field = onlyComponents ? owner : `${owner}.${key}`;
    if (isJsonObject(value)) {
      if (!onlyComponents || typeof value['type'] === 'string') result[key] = propagateParameters(field, value, inner);
    } else if (Array.isArray(value) && !onlyComponents) {
      const items = value.map((item) => (isJsonObject(item) ? propagateParameters(field, item, inner) : item));
      origins.note(items, origins.pathOf(value) || origins.pathAt(result, key));
      result[key] = items;
    }
  }
}

const isSchema = (type: unknown): boolean => type === 'object' || (typeof type === 'object' && type !== null);

/** Python's idea of an empty value. */
const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === 0 ||
  value === false ||
  (Array.isArray(value) && value.length === 0) ||
  (isJsonObject(value) && Object.keys(value).length === 0);
