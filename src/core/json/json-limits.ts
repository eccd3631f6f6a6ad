/**
 * Limits of every JSON value from outside: a record, a spec, the body of a request. Within them every recursive step
 * stays far from the stack's end, and PostgreSQL's jsonb and JSON Schema checks stay in milliseconds. `depthMax`: lists
 * and objects inside each other. `nodesMax`: values, lists and objects among them. `textLengthMax`: UTF-16 units of a
 * text or name of a spec or a body; a record has a limit of bytes.
 */
export const jsonLimits = { depthMax: 64, nodesMax: 100_000, textLengthMax: 65_536 } as const;

/** Names that reach a prototype when code copies objects carelessly. */
export const prototypeNames: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Why PostgreSQL or JSON cannot hold this text; null when both can. */
export function textIssue(text: string): string | null {
  if (text.includes('\0')) return 'contains the NUL character, which no database column can store';
  return text.isWellFormed() ? null : 'contains half of a UTF-16 surrogate pair, which is not a character';
}
