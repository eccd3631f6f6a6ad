import type { JsonObject } from '../../json/json-object.ts';
import { Refusal } from '../refusal.ts';
import { own } from './document.ts';
import type { Operation } from './operations.ts';
import type { Params } from './params.ts';
import { parameterParam } from './partitions.ts';

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/;

export interface RequiredValues {
  readonly query: JsonObject;
  readonly headers: JsonObject;
  readonly params: readonly string[];
}

/** Query parameters and headers that an operation requires, except those `given`. Throws a {@link Refusal}. */
export function requiredValues(
  operation: Operation,
  { params, given }: { readonly params: Params; readonly given: ReadonlySet<string> },
): RequiredValues {
  const query: [string, unknown][] = [];
  const headers: [string, unknown][] = [];
  const keys: string[] = [];
  for (const parameter of operation.parameters) {
    if (!parameter.required || given.has(parameter.name) || !['query', 'header'].includes(parameter.in)) continue;
    const { name, schema } = parameter;
    const only = valueOf(schema);
    if (parameter.in === 'header' && /^(accept|authorization|content-type)$/i.test(name)) continue;
    const isUsable = parameter.in === 'query' ? !name.includes('{{') && name.length <= 200 : headerName.test(name);
    if (!isUsable) throw new Refusal('a parameter that it requires has no usable name');
    const key = only === null ? params.add(`${parameter.in} ${name}`, name, parameterParam(parameter, name)) : null;
    if (key !== null) keys.push(key);
    (parameter.in === 'query' ? query : headers).push([name, only ?? `{{ params.${key} }}`]);
  }
  return { query: Object.fromEntries(query), headers: Object.fromEntries(headers), params: keys };
}

function valueOf(schema: JsonObject): string | null {
  const options = own(schema, 'enum');
  const [only, another] = Array.isArray(options) ? options : [];
  const value = own(schema, 'default') ?? own(schema, 'const') ?? (another === undefined ? only : undefined);
  const isPlain = ['string', 'number', 'boolean'].includes(typeof value);
  const text = String(value);
  return isPlain && text.length <= 500 && !text.includes('{{') ? text : null;
}
