import { valueAtNames } from './dotted-path.ts';
import { isJsonObject } from './is-json-object.ts';

type Step = { readonly path: string; readonly names: readonly string[] } | '*';

/** A path such as `accounts.*.items.*`: `*` is every element of a list and every value of an object. */
export interface StarredPath {
  /** The path before the first `*`; empty if it begins with one. */
  readonly prefix: string;
  readonly steps: readonly Step[];
}

/** `null` when the path has no `*`. */
export function starredPath(path: string): StarredPath | null {
  const names = path.split('.');
  const first = names.indexOf('*');
  if (first === -1) return null;
  const steps: Step[] = [];
  let row: string[] = [];
  const endRow = () => {
    if (row.length > 0) steps.push({ path: row.join('.'), names: row });
    row = [];
  };
  for (const name of names.slice(first)) {
    if (name === '*') {
      endRow();
      steps.push('*');
    } else row.push(name);
  }
  endRow();
  return { prefix: names.slice(0, first).join('.'), steps };
}

interface Visit {
  readonly found: (value: unknown) => void;
  /** Called where a list or a value was expected and the document has nothing or null. */
  readonly absent: () => void;
}

/**
 * Visits the values at `steps` in document order, each at most once. Object values come in the order of
 * `Object.values`, integer names first. A `*` skips values without elements, such as texts.
 */
export function visitSteps(value: unknown, steps: readonly Step[], visit: Visit, at = 0): void {
  const step = steps[at];
  if (step === undefined) visit.found(value);
  else if (step === '*') {
    if (value === null || value === undefined) visit.absent();
    for (const element of elementsOf(value)) visitSteps(element, steps, visit, at + 1);
  } else {
    const next = valueAtNames(value, step.path, step.names);
    if (next === null || next === undefined) visit.absent();
    else visitSteps(next, steps, visit, at + 1);
  }
}

export function elementsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return isJsonObject(value) ? Object.values(value) : [];
}
