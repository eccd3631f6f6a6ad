/** `1` and `"1"` are one key; `null` if the value cannot be a key. */
export function lookupKeyText(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}
