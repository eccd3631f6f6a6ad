/** A JSON value as text in a request: text as it is, everything else as JSON; null and missing are empty. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
