import { hash } from 'node:crypto';
import { losesPrepared } from './postgres-errors.ts';

/** A statement for the driver. */
export interface NamedQuery {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Under which the server keeps it; absent: it does not. */
  readonly name?: string;
}

/** Statements kept per session: one for each set of columns and their forms, of which a lane has few. */
const keptMax = 20;

/**
 * Has the server keep statements from their second use on, so that it need not read and plan them for every batch. A pooler
 * may hand the next statement to a server that has not kept it, or that keeps it for somebody else; then nothing was done,
 * and this one and all others are sent whole. For statements that are transactions of their own.
 */
export function createPreparedQueries<Answer>(run: (query: NamedQuery) => Promise<Answer>) {
  const names = new Map<string, string | null>();
  let keeps = true;
  const nameOf = (text: string): string | null => {
    const known = names.get(text);
    if (known === undefined) {
      if (names.size < keptMax) names.set(text, null);
      return null;
    }
    // Of its text: whoever shares a server with us by this name means the same.
    const name = known ?? `css_${hash('sha256', text).slice(0, 24)}`;
    names.set(text, name);
    return name;
  };
  return async (text: string, values: readonly unknown[]): Promise<Answer> => {
    const name = keeps ? nameOf(text) : null;
    if (name === null) return await run({ text, values });
    try {
      return await run({ text, values, name });
    } catch (error) {
      if (!losesPrepared(error)) throw error;
      keeps = false;
      return await run({ text, values });
    }
  };
}
