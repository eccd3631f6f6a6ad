import type { Attempt } from '../db/queries/runs/attempts.ts';
import { createSeenIdFilter, type SeenIdFilter } from '../src/core/pipeline/seen-id-filter.ts';

/**
 * Lanes that had nothing stored when this process began to read them: what was not asked for since then is not known, and
 * the database need not say so. Kept from chunk to chunk.
 */
export interface NewLanes {
  /**
   * What was asked for since the lane was new; null: only the database knows. Nothing may be stored of a lane that is `fresh`.
   */
  take(attempt: Pick<Attempt, 'laneId' | 'fence' | 'fenceBefore'>, fresh: boolean): SeenIdFilter | null;
  /** The run was read to its end. */
  leave(laneId: number): void;
}

/** Lanes whose ids are kept, 2 MB each. */
const lanesMax = 8;

/** Those of one process. */
export function createNewLanes(): NewLanes {
  const lanes = new Map<number, { readonly fence: number; readonly ids: SeenIdFilter }>();
  return {
    take({ laneId, fence, fenceBefore }, fresh) {
      const before = lanes.get(laneId);
      lanes.delete(laneId);
      // Another attempt in between may have stored what was not asked for here.
      const ids = fresh ? createSeenIdFilter() : before?.fence === fenceBefore ? before.ids : null;
      if (ids === null) return null;
      lanes.set(laneId, { fence, ids });
      for (const oldest of [...lanes.keys()].slice(0, -lanesMax)) lanes.delete(oldest);
      return ids;
    },
    leave(laneId) {
      lanes.delete(laneId);
    },
  };
}
