import { createRedactor } from '../../core/http/redact.ts';
import { isJsonObject } from '../../core/json/is-json-object.ts';
import type { JsonObject } from '../../core/json/json-object.ts';
import { checkConnectionValues } from '../../core/spec/connection/params.ts';
import type { ConnectorSpec } from '../../core/spec/schema/spec-schema.ts';

/** Also masks names and numbers. */
export function maskDeep(value: unknown, mask: (text: string) => string): unknown {
  if (typeof value === 'string') return mask(value);
  if (Array.isArray(value)) return value.map((item) => maskDeep(item, mask));
  if (isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [mask(name), maskDeep(part, mask)]));
  if (typeof value !== 'number') return value;
  const text = mask(String(value));
  return text === String(value) ? value : text;
}

/** Shorter secrets occur in ordinary words, so they are replaced only where they are a whole text. */
const replacedFrom = 4;

/** Omits params whose rules no made-up value fits. */
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

/** Replaces given secrets by placeholders, and others (`found`, such as tokens), in any spelling, by a mask. */
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
