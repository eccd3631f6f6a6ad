/** A JSON value as request text: strings unchanged, the rest as JSON, null and `undefined` empty. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
