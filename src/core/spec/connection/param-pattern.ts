import { createContext, Script } from 'node:vm';

/** Characters of a text that a pattern is tried on; a longer one does not match. */
const patternInputMax = 4096;

/** What is left of the time for all patterns of one check; spent as they are tried. */
export interface PatternBudget {
  leftMs: number;
}

/** Time for the patterns of one spec or one connection: honest ones take microseconds. */
export const patternBudget = (): PatternBudget => ({ leftMs: 250 });

/**
 * Milliseconds for one pattern: backtracking that takes longer is stopped by V8 itself. A busy machine may take the CPU away
 * for some tens of them.
 */
const timeoutMs = 200;

/** Whether every text matches; `too_slow` when the pattern backtracks without end. `pattern` must compile. */
export function matchesPattern(
  pattern: string,
  texts: readonly string[],
  budget: PatternBudget,
): 'yes' | 'no' | 'too_slow' {
  if (texts.some((text) => text.length > patternInputMax)) return 'no';
  if (budget.leftMs < 1) return 'too_slow';
  const started = performance.now();
  try {
    const context = createContext({ pattern, texts: [...texts] });
    const timeout = Math.ceil(Math.min(timeoutMs, budget.leftMs));
    return script.runInContext(context, { timeout }) === true ? 'yes' : 'no';
  } catch (error) {
    if (isTimeout(error)) return 'too_slow';
    throw error;
  } finally {
    budget.leftMs -= performance.now() - started;
  }
}

const script = new Script('{ const regex = new RegExp(pattern); texts.every((text) => regex.test(text)); }');

/** The error comes from the other realm, so it is no instance of our Error. */
const isTimeout = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
