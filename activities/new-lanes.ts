import { LRUCache } from 'lru-cache';
import type { Attempt } from '../db/queries/runs/attempts.ts';
import { createSeenIdFilter, type SeenIdFilter } from '../src/core/pipeline/seen-id-filter.ts';

/**
 * Lanes that had nothing stored when this process began to read them: an id not looked up since then needs no query. Kept
 * from chunk to chunk.
 */
export interface NewLanes {
  /** `null` if only the database knows the ids; a `fresh` lane must have nothing stored. */
  take(attempt: Pick<Attempt, 'laneId' | 'fence' | 'fenceBefore'>, fresh: boolean): SeenIdFilter | null;
  leave(laneId: number): void;
}

/** The most recently read lanes, 2 MB of ids each. */
const lanesMax = 8;

export function createNewLanes(): NewLanes {
  const lanes = new LRUCache<number, { readonly fence: number; readonly ids: SeenIdFilter }>({ max: lanesMax });
  return {
    take({ laneId, fence, fenceBefore }, fresh) {
      const before = lanes.get(laneId);
      lanes.delete(laneId);
      // Another attempt in between may have stored ids that were not looked up here.
      const ids = fresh ? createSeenIdFilter() : before?.fence === fenceBefore ? before.ids : null;
      if (ids === null) return null;
      lanes.set(laneId, { fence, ids });
      return ids;
    },
    leave(laneId) {
      lanes.delete(laneId);
    },
  };
}
