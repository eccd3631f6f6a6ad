/** Ensures that an attempt uses no stored fact of its lane that is about something else. */

import type { Attempt } from '../db/queries/runs/attempts.ts';
import { type Conformed, conformLane } from '../db/queries/runs/lanes/conform-lane.ts';
import type { OrgScope } from '../db/scope.ts';
import type { ResourceSetup } from '../src/connect/setup.ts';
import { takenOver } from '../src/core/errors.ts';
import { changedFacets, forgetsRecords, isMeaning, meaningOf } from '../src/core/spec/connection/meaning.ts';
import type { Deps } from '../src/deps.ts';

export interface Conformer {
  /**
   * True if records are known by another key, or too little is known. Then call `conform` before opening the destination: the
   * lane is another generation for it.
   */
  readonly startsOver: boolean;
  /**
   * Resets what no longer means the same; `null` if nothing was reset. Unless the lane starts over, open the destination
   * first: only it may know an earlier run's last batch, which still matches the stored facts. Throws `fenced` when a newer
   * attempt holds the lane, or its account has changed since this one began.
   */
  conform(): Promise<Conformed | null>;
}

export function createConformer(
  { db, log }: Pick<Deps, 'db' | 'log'>,
  scope: OrgScope,
  { runId, attempt, setup }: { readonly runId: string; readonly attempt: Attempt; readonly setup: ResourceSetup },
): Conformer {
  const meaning = meaningOf(setup.spec, setup.resource, setup.params);
  if (isMeaning(attempt.meaning, meaning)) return { startsOver: false, conform: async () => null };
  const changed = changedFacets(attempt.meaning ?? {}, meaning);
  const { laneId, fence } = attempt;
  return {
    startsOver: forgetsRecords(changed),
    async conform() {
      const conformed = await conformLane(db, scope, {
        laneId,
        fence,
        runId,
        before: attempt.meaning,
        meaning,
        changed,
      });
      if (conformed === null) throw takenOver();
      if (changed.length === 0) return null;
      log.info('what was stored means something else now, and is reset', { changed });
      return conformed;
    },
  };
}
