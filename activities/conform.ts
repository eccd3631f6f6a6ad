/** Whatever changed since the last run: an attempt uses no stored fact that is about something else. */

import type { Attempt } from '../db/queries/runs/attempts.ts';
import { type Conformed, conformLane } from '../db/queries/runs/lanes/conform-lane.ts';
import type { OrgScope } from '../db/scope.ts';
import type { ResourceSetup } from '../src/connect/setup.ts';
import { takenOver } from '../src/core/errors.ts';
import { changedFacets, isMeaning, meaningOf } from '../src/core/spec/connection/meaning.ts';
import type { Deps } from '../src/deps.ts';

/** How a lane comes to mean what its run reads. */
export interface Conformer {
  /**
   * What is known of records is about another key: to be called before the destination is opened, for which the lane is
   * another generation then.
   */
  readonly startsOver: boolean;
  /**
   * Resets what no longer means the same; null: nothing was reset. Where the lane does not start over, the destination is opened
   * before: the last batch of an earlier run, which may be known there only, is about what the lane still stores. Throws
   * `fenced` when a newer attempt holds the lane, or its account has changed since this one began.
   */
  conform(): Promise<Conformed | null>;
}

/** Compares what the lane of an attempt stores with what its run reads. */
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
    startsOver: changed.includes('key'),
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
