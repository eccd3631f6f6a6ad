import type { HttpRejection } from '../errors.ts';

/** Counts what each org has in progress. Each process counts for itself, in memory. */
export interface OrgCounter {
  /**
   * Counts one more that begins; what is returned ends it, once. Throws the rejection of the counter when the org is at
   * its limit.
   */
  begin(orgId: string): () => void;
}

/**
 * Makes a counter with nothing in progress. An org has at most `max` at once; `tooMany` is what the next one is refused
 * with.
 */
export function createOrgCounter(max: number, tooMany: () => HttpRejection): OrgCounter {
  const counts = new Map<string, number>();
  return {
    begin(orgId) {
      const others = counts.get(orgId) ?? 0;
      if (others >= max) throw tooMany();
      counts.set(orgId, others + 1);
      let isOpen = true;
      return () => {
        if (!isOpen) return;
        isOpen = false;
        const left = (counts.get(orgId) ?? 1) - 1;
        if (left > 0) counts.set(orgId, left);
        else counts.delete(orgId);
      };
    },
  };
}
