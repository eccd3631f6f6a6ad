import { createStatementNames } from '../../postgres/statement-names.ts';
import { losesPrepared } from './errors.ts';

/** A statement for the driver. */
export interface NamedQuery {
  readonly text: string;
  readonly values: readonly unknown[];
  /** The name under which the server keeps it; absent: it does not. */
  readonly name?: string;
}

/**
 * Has the server keep statements from their second use on, so that it need not read and plan them for every batch. A
 * pooler may hand the next statement to a server that has not kept it, or that keeps another one by its name. Nothing
 * is done then, and from that moment on all statements are sent whole. For statements that are transactions of their
 * own.
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
