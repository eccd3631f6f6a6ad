import { jsonLimits } from './json-limits.ts';
import { storableText } from './storable-text.ts';

/**
 * JSON text that PostgreSQL's jsonb accepts, to store a record that the pipeline refused. A valid record is unchanged.
 * Values that jsonb cannot hold stay visible as text: NUL as `\u0000`, a lone surrogate as `\ud800`, a non-finite
 * number as `"Infinity"`.
 *
 * `redact` masks secrets in every string, property name and number; a number that holds one becomes text. It never sees
 * the JSON text itself, because a mask would break its quotes and digits.
 */
export function storableJson(record: unknown, redact: (text: string) => string = unchanged): string {
  return JSON.stringify(storable(record, 1, redact)) ?? 'null';
}

const unchanged = (text: string): string => text;

function storable(value: unknown, depth: number, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return storableText(redact(value));
  if (typeof value === 'number') return storableNumber(value, redact);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > jsonLimits.depthMax) return '(deeper levels left out)';
  if (Array.isArray(value)) return value.map((item) => storable(item, depth + 1, redact));
  // fromEntries defines properties, so a "__proto__" key stays data.
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [storableText(redact(key)), storable(child, depth + 1, redact)]),
  );
}

function storableNumber(value: number, redact: (text: string) => string): number | string {
  const text = String(value);
  const shown = redact(text);
  return shown === text && Number.isFinite(value) ? value : shown;
}
