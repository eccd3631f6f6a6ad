import { createStatementNames } from '../../postgres/statement-names.ts';
import { losesPrepared } from './errors.ts';

export interface NamedQuery {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Absent if the server should not keep the statement. */
  readonly name?: string;
}

/**
 * Lets the server keep statements from their second use on, to save parsing and planning for every batch. A pooler may pass the
 * next statement to a server that lacks it, or has another one under its name. The server then does nothing, and from then on all
 * statements are sent whole. For statements that are transactions of their own.
 */
export function createPreparedQueries<Result>(run: (query: NamedQuery) => Promise<Result>) {
  // One for each set of columns and their forms, of which a lane has few.
  const nameOf = createStatementNames({ usesMin: 2, namesMax: 20 });
  let keeps = true;
  return async (text: string, values: readonly unknown[]): Promise<Result> => {
    const name = keeps ? nameOf(text) : undefined;
    if (name === undefined) return await run({ text, values });
    try {
      return await run({ text, values, name });
    } catch (error) {
      if (!losesPrepared(error)) throw error;
      keeps = false;
      return await run({ text, values });
    }
  };
}
