/** One evaluation of a compiled expression over one record. */
export interface Evaluation {
  /** The record: `$$`. */
  readonly root: unknown;
  /** What the caller binds, in the order of the expression's `variables`. */
  readonly bound: readonly unknown[];
  /** What the expression itself binds with `:=`; each place in its text has a slot of its own. */
  readonly slots: unknown[];
  /** `$millis()`. */
  readonly nowMs: number;
  /** Work that may still be done, see {@link charge}. */
  allowance: number;
}

/** Takes the context value to the result, undefined for nothing. Throws {@link InterpreterFallback} and nothing else. */
export type Compiled = (input: unknown, evaluation: Evaluation) => unknown;

/**
 * Ends an evaluation that JSONata itself has to repeat, in a process of its own. `code` is the error that it will find,
 * null when only it knows the result.
 */
export class InterpreterFallback extends Error {
  readonly code: string | null;
  constructor(code: string | null) {
    super(`JSONata itself has to evaluate this (${code ?? 'not supported here'}).`);
    this.code = code;
  }
}

/** The errors by code, one of each, as an error is expensive to make and carries nothing but its code. */
const known = new Map<string | null, InterpreterFallback>();

/** Ends the evaluation with an error of JSONata's. */
export function fail(code: string): never {
  throw ending(code);
}

/** Ends the evaluation because only JSONata can give the result. */
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
 * Units of work for one record: each step over an item, node of a value or 16 characters of text costs one, in advance.
 * This takes a few milliseconds at most, so no expression can keep the worker from its heartbeats. No list grows longer
 * than this, which is JSONata's own limit here (`sequence`).
 */
export const allowanceMax = 100_000;

/** Takes units from the remaining allowance of the evaluation. */
export function charge(evaluation: Evaluation, units: number): void {
  evaluation.allowance -= units;
  if (evaluation.allowance < 0) handBack();
}

/** Charges for making or reading `length` characters. */
export const chargeText = (evaluation: Evaluation, length: number): void => charge(evaluation, 1 + length / 16);
