import { HttpRejection } from '../errors.ts';

/** Counts the lists that are sent to each org. Each process counts for itself, in memory. */
export interface ListsAtOnce {
  /** One more begins; what is returned ends it, once. Throws an {@link HttpRejection} 429 with `Retry-After`. */
  begin(orgId: string): () => void;
}

/** Of one org at once: each reads from the database for as long as it is taken, and there are 10 connections to it. */
const listsMax = 4;

/** No list is sent yet. */
export function createListsAtOnce(): ListsAtOnce {
  const underWay = new Map<string, number>();
  return {
    begin(orgId) {
      const others = underWay.get(orgId) ?? 0;
      if (others >= listsMax) throw tooManyAtOnce();
      underWay.set(orgId, others + 1);
      let isOpen = true;
      return () => {
        if (!isOpen) return;
        isOpen = false;
        const left = (underWay.get(orgId) ?? 1) - 1;
        if (left > 0) underWay.set(orgId, left);
        else underWay.delete(orgId);
      };
    },
  };
}

const tooManyAtOnce = (): HttpRejection =>
  new HttpRejection(429, `Your org is reading ${listsMax} long lists: read one to its end, then repeat the request.`, {
    code: 'rate_limited',
    headers: { 'retry-after': '1' },
  });
