import { createRedactor } from '../../core/http/redact.ts';
import { isJsonObject } from '../../core/json/is-json-object.ts';
import type { JsonObject } from '../../core/json/json-object.ts';
import { checkConnectionValues } from '../../core/spec/connection/params.ts';
import type { ConnectorSpec } from '../../core/spec/schema/spec-schema.ts';

/** A JSON value with every text in it masked, names and numbers too. */
export function maskDeep(value: unknown, mask: (text: string) => string): unknown {
  if (typeof value === 'string') return mask(value);
  if (Array.isArray(value)) return value.map((item) => maskDeep(item, mask));
  if (isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [mask(name), maskDeep(part, mask)]));
  if (typeof value !== 'number') return value;
  const text = mask(String(value));
  return text === String(value) ? value : text;
}

/**
 * The length from which a secret is replaced anywhere; shorter ones only where they are a whole text: they occur in
 * ordinary words.
 */
const replacedFrom = 4;

/** Made-up values in place of secrets: a test needs no real ones. Of a param whose rules no such value fits there is none. */
export function placeholdersOf(
  { connectionParams }: Pick<ConnectorSpec, 'connectionParams'>,
  secrets: JsonObject,
): Readonly<Record<string, string>> {
  const entries = Object.keys(secrets).flatMap((key) => {
    const param = connectionParams.find((one) => one.key === key);
    const value = param?.type === 'url' ? `https://${key.toLowerCase().replaceAll('_', '-')}.test` : `test-${key}`;
    const fits =
      param !== undefined &&
      checkConnectionValues({ connectionParams: [param] }, { params: {}, secrets: { [key]: value } }).ok;
    return fits ? [[key, value] as const] : [];
  });
  return Object.fromEntries(entries);
}

/**
 * Replaces given secrets by their placeholders, and everything else that is secret, in any spelling, by a mask.
 * `found`: all that is secret, tokens that came up too.
 */
export function createSecretMask(
  secrets: JsonObject,
  placeholders: Readonly<Record<string, string>>,
  found: readonly string[],
): (text: string) => string {
  const redactor = createRedactor([...found, ...Object.values(secrets).map(textOf)]);
  const replaced = Object.entries(secrets)
    .map(([key, value]) => [textOf(value), placeholders[key] ?? '[redacted]'] as const)
    .filter(([value]) => value !== '')
    .toSorted(([one], [other]) => other.length - one.length);
  const short = found.filter((value) => value.length > 0 && value.length < replacedFrom);
  return (text) => {
    const whole = replaced.find(([value]) => value === text);
    if (whole) return whole[1];
    if (short.includes(text)) return '[redacted]';
    const known = replaced
      .filter(([value]) => value.length >= replacedFrom)
      .reduce((changed, [value, placeholder]) => changed.replaceAll(value, () => placeholder), text);
    return redactor.values(known);
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
