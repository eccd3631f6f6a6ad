import type { HttpRejection } from '../errors.ts';

/** Counts the work in progress of each owner, an org or a hook, in memory per process. */
export interface InProgress {
  /** The returned function ends it, once. Throws the counter's rejection when the owner is at its limit. */
  begin(owner: string): () => void;
}

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
