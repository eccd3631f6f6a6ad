/** The text under which a value is a key of a table or of a batch: `1` and `"1"` are one key. Null: no key. */
export function lookupKeyText(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}
