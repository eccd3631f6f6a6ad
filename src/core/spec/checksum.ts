import { createHash } from 'node:crypto';

/**
 * RFC 8785 canonical JSON: keys sorted by UTF-16 code units, numbers and strings as ECMAScript writes them, no
 * white space. Properties that are undefined are left out. Throws `TypeError` for what JSON cannot carry.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') return canonicalNumber(value);
  if (typeof value !== 'object') throw new TypeError(`a ${typeof value} is not JSON`);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const entries = Object.entries(value).filter(([, child]) => child !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, child]) => `${JSON.stringify(key)}:${canonicalJson(child)}`).join(',')}}`;
}

/** `sha256:` and the hex digest of the canonical JSON of a spec document. */
export const specChecksum = (document: unknown): string =>
  `sha256:${createHash('sha256').update(canonicalJson(document)).digest('hex')}`;

function canonicalNumber(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError(`${value} is not JSON`);
  return JSON.stringify(value);
}
