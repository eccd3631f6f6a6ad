export interface Evaluation {
  readonly root: unknown;
  /** Bound by the caller, in the order of the expression's `variables`. */
  readonly bound: readonly unknown[];
  /** Bound by the expression with `:=`; each place in its text has a slot of its own. */
  readonly slots: unknown[];
  readonly nowMs: number;
  allowance: number;
}

/** Computes the result from the context value; `undefined` for nothing. Throws only {@link InterpreterFallback}. */
export type Compiled = (input: unknown, evaluation: Evaluation) => unknown;

/**
 * Ends an evaluation that JSONata itself has to repeat in a separate process. `code` is the error that it will find, or
 * `null` when only JSONata knows the result.
 */
export class InterpreterFallback extends Error {
  readonly code: string | null;
  constructor(code: string | null) {
    super(`JSONata itself has to evaluate this (${code ?? 'not supported here'}).`);
    this.code = code;
  }
}

/** One error per code, as an error is expensive to make and carries only its code. */
const known = new Map<string | null, InterpreterFallback>();

export function fail(code: string): never {
  throw ending(code);
}

export function handBack(): never {
  throw ending(null);
}

function ending(code: string | null): InterpreterFallback {
  const before = known.get(code);
  if (before !== undefined) return before;
  const made = new InterpreterFallback(code);
  known.set(code, made);
  return made;
}

/**
 * Units of work for one record, charged in advance. Each step over an item, node of a value or 16 characters of text
 * costs one. This takes a few milliseconds, so no expression can keep the worker from its heartbeats. No list grows
 * longer than this, which is JSONata's own limit here (`sequence`).
 */
export const allowanceMax = 100_000;

export function charge(evaluation: Evaluation, units: number): void {
  evaluation.allowance -= units;
  if (evaluation.allowance < 0) handBack();
}

export const chargeText = (evaluation: Evaluation, length: number): void => charge(evaluation, 1 + length / 16);
