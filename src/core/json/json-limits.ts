/**
 * Deepest nesting of a record, most values in it. Within them every recursive step of the pipeline stays far from
 * the stack's end, and PostgreSQL's jsonb and JSON Schema checks stay in milliseconds.
 */
export const recordLimits = { depthMax: 64, nodesMax: 100_000 } as const;

/**
 * Why a decoded record cannot pass the pipeline, as text for the quarantine row; null when it can. Checks one record
 * alone, never throws and takes any depth, so that failures are isolated per record.
 */
export function findIssue(record: unknown): string | null {
  const pending: unknown[] = [record];
  const depths: number[] = [1];
  let nodes = 0;
  while (pending.length > 0) {
    const value = pending.pop();
    const depth = depths.pop() ?? 1;
    nodes += 1;
    if (nodes > recordLimits.nodesMax) return `has more than ${recordLimits.nodesMax} values`;
    if (typeof value !== 'object' || value === null) {
      const issue = scalarIssue(value);
      if (issue !== null) return issue;
      continue;
    }
    if (depth > recordLimits.depthMax) return `is nested deeper than ${recordLimits.depthMax} levels`;
    const issue = Array.isArray(value) ? null : keysIssue(value);
    if (issue !== null) return issue;
    for (const child of Object.values(value)) {
      pending.push(child);
      depths.push(depth + 1);
    }
    if (nodes + pending.length > recordLimits.nodesMax) return `has more than ${recordLimits.nodesMax} values`;
  }
  return null;
}

/** Why PostgreSQL or JSON cannot hold this text; null when both can. */
export function textIssue(text: string): string | null {
  if (text.includes('\0')) return 'contains the NUL character, which no database column can store';
  return text.isWellFormed() ? null : 'contains half of a UTF-16 surrogate pair, which is not a character';
}

function scalarIssue(value: unknown): string | null {
  if (typeof value === 'string') return textIssue(value);
  if (typeof value === 'number') return Number.isFinite(value) ? null : 'contains a number beyond the range of JSON';
  return typeof value === 'boolean' || value === null ? null : `contains a value of type ${typeof value}`;
}

/** Names that reach a prototype when code copies objects carelessly. */
export const forbiddenKeys: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

function keysIssue(value: object): string | null {
  for (const key of Object.keys(value)) {
    if (forbiddenKeys.has(key)) return `has a property named "${key}"`;
    const issue = textIssue(key);
    if (issue !== null) return `has a property name that ${issue}`;
  }
  return null;
}
