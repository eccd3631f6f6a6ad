import { createContext, Script } from 'node:vm';

/** Characters of a text that a pattern is tried on; a longer one does not match. */
export const patternInputMax = 4096;

/** Milliseconds for all texts of one value: backtracking that takes longer is stopped by V8 itself. */
const timeoutMs = 50;

/** Whether every text matches; `too_slow` when the pattern backtracks without end. `pattern` must compile. */
export function matchesPattern(pattern: string, texts: readonly string[]): 'yes' | 'no' | 'too_slow' {
  if (texts.some((text) => text.length > patternInputMax)) return 'no';
  try {
    const context = createContext({ pattern, texts: [...texts] });
    return script.runInContext(context, { timeout: timeoutMs }) === true ? 'yes' : 'no';
  } catch (error) {
    if (isTimeout(error)) return 'too_slow';
    throw error;
  }
}

const script = new Script('{ const regex = new RegExp(pattern); texts.every((text) => regex.test(text)); }');

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
