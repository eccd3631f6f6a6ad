/**
 * Limits of every JSON value from outside: a record, a spec, a request body. Within them recursive steps stay far from
 * the stack's end, and PostgreSQL's jsonb and JSON Schema checks stay in milliseconds. `depthMax` counts nested lists
 * and objects; `nodesMax` counts values, lists and objects among them. `textLengthMax` is in UTF-16 units, for texts
 * and names of a spec or a body; a record has a byte limit.
 */
export const jsonLimits = { depthMax: 64, nodesMax: 100_000, textLengthMax: 65_536 } as const;

/** Names that reach a prototype when code copies objects carelessly. */
export const prototypeNames: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Why PostgreSQL or JSON cannot hold this text; `null` when both can. */
export function textIssue(text: string): string | null {
  if (text.includes('\0')) return 'contains the NUL character, which no database column can store';
  return text.isWellFormed() ? null : 'contains half of a UTF-16 surrogate pair, which is not a character';
}
