import { valueAtNames } from './dotted-path.ts';
import { isJsonObject } from './is-json-object.ts';

/** Names in a row, or a `*`. */
type Step = { readonly path: string; readonly names: readonly string[] } | '*';

/** A path such as `accounts.*.items.*`: `*` is every element of a list and every value of an object. */
export interface StarredPath {
  /** What stands before the first `*`; empty: the path begins with it. */
  readonly prefix: string;
  /** From the first `*` on. */
  readonly steps: readonly Step[];
}

/** Null: the path has no `*`. */
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

/** What to do with what a path finds. */
interface Visit {
  readonly found: (value: unknown) => void;
  /** Nothing, or null, is where a list or a value was expected. */
  readonly absent: () => void;
}

/**
 * Visits what `steps` find from a value on, in the order of the document; the values of an object in that of
 * `Object.values`, where names that are whole numbers come first. What has no elements, such as a text, is passed over
 * by a `*`. Each value of the document is visited once at most.
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

/** What a `*` goes over: the elements of a list, or the values of an object. */
export function elementsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return isJsonObject(value) ? Object.values(value) : [];
}
