import type { HttpRejection } from '../errors.ts';

/** Counts what each owner, an org or a hook, has in progress. Each process counts for itself, in memory. */
export interface InProgress {
  /**
   * Counts one more that begins; what is returned ends it, once. Throws the rejection of the counter when the owner is at
   * its limit.
   */
  begin(owner: string): () => void;
}

/**
 * Makes a counter with nothing in progress. An owner has at most `max` at once; `tooMany` is what the next one is refused
 * with.
 */
export function createInProgress(max: number, tooMany: () => HttpRejection): InProgress {
  const counts = new Map<string, number>();
  return {
    begin(owner) {
      const others = counts.get(owner) ?? 0;
      if (others >= max) throw tooMany();
      counts.set(owner, others + 1);
      let isOpen = true;
      return () => {
        if (!isOpen) return;
        isOpen = false;
        const left = (counts.get(owner) ?? 1) - 1;
        if (left > 0) counts.set(owner, left);
        else counts.delete(owner);
      };
    },
  };
}
