import { findRunWaits, type RunWait as StoredWait } from '../../../db/queries/runs/lanes/waits.ts';
import type { OrgScope } from '../../../db/scope.ts';
import type { Deps } from '../../deps.ts';
import { runInput } from '../../dispatch/run-input.ts';

/** The wait of a run that has not ended. */
export interface RunWait extends StoredWait {
  /** What its workflow does; null: its rows say enough, or Temporal does not know or does not respond. */
  readonly watch: Awaited<ReturnType<Deps['orchestrator']['watchRun']>> | null;
}

/** Runs that are looked up in Temporal for one page. */
const watchedMax = 3;

/** The waits of these runs by id; those that have ended are missing. */
export async function readRunWaits(
  { db, orchestrator }: Pick<Deps, 'db' | 'orchestrator'>,
  scope: OrgScope,
  ids: readonly string[],
): Promise<ReadonlyMap<string, RunWait>> {
  if (ids.length === 0) return new Map();
  const waits = await findRunWaits(db, scope, ids);
  const watched = new Set(waits.filter(({ before }) => before === null).slice(0, watchedMax));
  const watch = (wait: StoredWait) => orchestrator.watchRun(runInput(scope, wait)).catch(() => null);
  return new Map(
    await Promise.all(
      waits.map(async (wait) => [wait.id, { ...wait, watch: watched.has(wait) ? await watch(wait) : null }] as const),
    ),
  );
}
