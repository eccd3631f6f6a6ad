import { AppError } from '../src/core/errors.ts';
import { type RunTerms, runTerms } from '../src/core/spec/connection/run-terms.ts';

/** The terms of a run that no caller requests, or the reason as text why not. */
export function automaticTerms(question: Omit<Parameters<typeof runTerms>[0], 'path'>): RunTerms | string {
  try {
    return runTerms({ ...question, path: 'resourceKey' });
  } catch (error) {
    if (error instanceof AppError) return error.issues?.[0]?.message ?? error.message;
    throw error;
  }
}
