import { recordLimits } from './record-gate.ts';

/**
 * JSON text of any decoded value that PostgreSQL's jsonb accepts, for keeping a record that the pipeline refused. What
 * jsonb cannot hold stays visible as text: NUL as `\u0000`, a lone surrogate as `\ud800`, a non-finite number as
 * `"Infinity"`, levels beyond the record limit as `"(deeper levels left out)"`. A sound record is unchanged.
 */
export function storableJson(record: unknown): string {
  return JSON.stringify(storable(record, 1)) ?? 'null';
}

function storable(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return storableText(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > recordLimits.depthMax) return '(deeper levels left out)';
  if (Array.isArray(value)) return value.map((item) => storable(item, depth + 1));
  // fromEntries defines properties, so a "__proto__" key stays data.
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [storableText(key), storable(child, depth + 1)]),
  );
}

export function storableText(text: string): string {
  if (!text.includes('\0') && text.isWellFormed()) return text;
  return text.replace(/\0|\p{Surrogate}/gu, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
