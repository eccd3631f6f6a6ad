import { type Issue, schemaIssue } from '../../../core/errors.ts';
import type { JsonObject } from '../../../core/json/json-object.ts';
import type { ConnectionParam } from '../../../core/spec/schema/param-schema.ts';
import type { FormFields } from '../../form-body.ts';

/** Name of its field and path of its issues. */
export const valueName = ({ secret, key }: Pick<ConnectionParam, 'secret' | 'key'>): string =>
  `${secret ? 'secrets' : 'params'}.${key}`;

/** Name of the fields that select optional secrets to delete. */
export const removedSecrets = 'removedSecrets';

interface SentValues {
  readonly params: JsonObject;
  /** Only those that were filled in; `null` deletes one. */
  readonly secrets: JsonObject;
  /** Texts that are no value at all; the rules of the spec are checked elsewhere. */
  readonly issues: readonly Issue[];
}

/**
 * The values of a form. An empty field is no value. A param whose text is as it was shown keeps its stored value, because not
 * every text or list can be typed.
 */
export function sentValues(
  connectionParams: readonly ConnectionParam[],
  fields: FormFields,
  stored: JsonObject = {},
): SentValues {
  const sent = { params: new Map<string, unknown>(), secrets: new Map<string, unknown>() };
  const issues: Issue[] = [];
  for (const param of connectionParams) {
    const { key, secret } = param;
    const text = textIn(fields, valueName(param));
    const known = secret ? undefined : stored[key];
    if (known !== undefined && isAsShown(text, known, param.type)) sent.params.set(key, known);
    else if (text.trim() !== '') {
      const value = valueOf(param, text);
      if (value === undefined) issues.push(schemaIssue(valueName(param), 'expected JSON'));
      else sent[secret ? 'secrets' : 'params'].set(key, value);
    }
  }
  const removed = textIn(fields, removedSecrets).split('\n');
  for (const { key, secret, required } of connectionParams) {
    if (secret && !required && removed.includes(key)) sent.secrets.set(key, null);
  }
  return { params: Object.fromEntries(sent.params), secrets: Object.fromEntries(sent.secrets), issues };
}

/** Several values of a name are lines. */
export function textIn(fields: FormFields, name: string): string {
  const sent = Object.hasOwn(fields, name) ? (fields[name] ?? '') : '';
  return typeof sent === 'string' ? sent : sent.join('\n');
}

/** The text of a form has line ends `\n`. */
export const isAsShown = (text: string, value: unknown, type?: ConnectionParam['type']): boolean =>
  text === valueText(value, type).replaceAll(/\r\n?/g, '\n');

/** A value as it is typed. */
export function valueText(value: unknown, type?: ConnectionParam['type']): string {
  if (value === undefined) return '';
  if (typeof value === 'string' && type !== 'json') return value;
  if (type === 'string_list' && Array.isArray(value) && value.every((item) => typeof item === 'string'))
    return value.join('\n');
  return JSON.stringify(value, null, 2);
}

/** A text without the form of the type stays text, and the check of values then names the type. `undefined`: no JSON. */
function valueOf({ type, secret }: ConnectionParam, text: string): unknown {
  const trimmed = text.trim();
  switch (type) {
    case 'string':
    case 'url':
      return secret ? text : trimmed;
    case 'integer':
    case 'number':
      return /^[+-]?\d+(?:\.\d+)?$/.test(trimmed) ? Number(trimmed) : text;
    case 'boolean':
      return trimmed === 'true' ? true : trimmed === 'false' ? false : text;
    case 'string_list':
      return text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '');
    case 'json':
      return jsonOf(text);
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
