import type * as real from '../../../../db/queries/runs/maintenance/sweep.ts';
import type { StoredRun } from '../store/control-state.ts';
import { memoryOf } from '../store/memory-db.ts';

/** As the query of the same name. */
export const findUndispatchedRuns: typeof real.findUndispatchedRuns = (db, { olderThanMs, limit }) =>
  memoryOf(db).transact('findUndispatchedRuns', (state) => {
    const before = state.ago(olderThanMs);
    return state.runs
      .where((run) => run.status === 'queued' && run.dispatchedAt === null && run.createdAt < before)
      .toSorted((a, b) => compare(a.createdAt, b.createdAt))
      .slice(0, limit)
      .map(swept);
  });

/** As the query of the same name. */
export const findSilentRuns: typeof real.findSilentRuns = (db, { olderThanMs, limit }) =>
  memoryOf(db).transact('findSilentRuns', (state) => {
    const before = state.ago(olderThanMs);
    return state.runs
      .where(
        (run) =>
          (run.status === 'queued' || run.status === 'running') && run.dispatchedAt !== null && lastSign(run) < before,
      )
      .toSorted((a, b) => compare(lastSign(a), lastSign(b)))
      .slice(0, limit)
      .map(swept);
  });

const lastSign = ({ progressedAt, dispatchedAt }: StoredRun): string => progressedAt ?? dispatchedAt ?? '';

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const swept = ({
  id,
  orgId,
  connectionId,
  resourceKey,
  scheduleId,
  scheduledFor,
  cancelRequestedAt,
}: StoredRun): real.SweptRun => ({
  id,
  orgId,
  connectionId,
  resourceKey,
  scheduleId,
  scheduledFor,
  cancelRequested: cancelRequestedAt !== null,
});
