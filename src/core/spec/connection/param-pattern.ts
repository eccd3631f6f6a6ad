import { AppError } from '../../errors.ts';
import {
  createLinearPattern,
  type LinearPattern,
  type PatternBudget,
  PatternBudgetError,
} from '../../json-schema/linear-pattern.ts';

/** Characters; a longer text does not match. */
const patternInputMax = 4096;

/**
 * Work allowed for the patterns of one spec or connection, about 30 ms: it blocks the API. Two hundred params with
 * usual patterns take a tenth.
 */
export const patternBudget = (): PatternBudget => ({ left: 100_000 });

/** Compiling an instruction takes as long as visiting two. */
const visitsPerInstruction = 2;
/** Charged for a rejected pattern, which may have expanded to the maximum program size. */
const refusedVisits = 20_000;

/** Why a spec may not use the pattern; `null` if it may. */
export function patternIssue(pattern: string, budget: PatternBudget): string | null {
  try {
    compile(pattern, budget);
    return null;
  } catch (error) {
    if (error instanceof AppError || error instanceof PatternBudgetError) return error.message;
    throw error;
  }
}

/** Whether every text matches; `too_slow` if that exceeds the remaining budget or the pattern is rejected. */
export function matchesPattern(
  pattern: string,
  texts: readonly string[],
  budget: PatternBudget,
): 'yes' | 'no' | 'too_slow' {
  if (texts.some((text) => text.length > patternInputMax)) return 'no';
  try {
    const linear = compile(pattern, budget);
    return texts.every((text) => linear.test(text, budget)) ? 'yes' : 'no';
  } catch (error) {
    if (error instanceof AppError || error instanceof PatternBudgetError) return 'too_slow';
    throw error;
  }
}

function compile(pattern: string, budget: PatternBudget): LinearPattern {
  if (budget.left <= 0) throw new PatternBudgetError('The patterns together take too long');
  try {
    const linear = createLinearPattern(pattern);
    budget.left -= visitsPerInstruction * linear.size;
    return linear;
  } catch (error) {
    budget.left -= refusedVisits;
    throw error;
  }
}
