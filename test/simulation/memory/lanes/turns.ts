import type { AddressedRun } from '../../../../db/queries/runs/firings.ts';
import { orgLimits } from '../../../../src/core/resources/org-limits.ts';
import type { ControlState, StoredRun } from '../store/control-state.ts';

/** As in the real module, ms. */
const silentMsMax = 90_000;

/**
 * As the query of the same name, for an org with the default limits.
 *
 * @param askingId of the run that takes part whether or not it is known to be ready.
 */
export function runsInTurn(state: ControlState, askingId: string | null): AddressedRun[] {
  const inProgress = state.runs.where(({ status }) => status === 'running');
  const queued = state.runs.where(({ status }) => status === 'queued');
  const ready = queued.filter(
    ({ id, readyAt }) => id === askingId || (readyAt !== null && readyAt > state.ago(silentMsMax)),
  );
  const free = ready.filter((run) => isFree(state, run, { inProgress, queued })).toSorted(inOrder);
  const places = new Map<string, number>();
  const fitting = free.filter(({ connectionId, concurrentMax }) => {
    const place = (places.get(connectionId) ?? 0) + 1;
    places.set(connectionId, place);
    return place + inProgress.filter((run) => run.connectionId === connectionId).length <= concurrentMax;
  });
  return fitting
    .slice(0, Math.max(0, orgLimits.runsAtOnce.default - inProgress.length))
    .map(({ id, connectionId, resourceKey, scheduleId, scheduledFor }) => ({
      ...{ id, connectionId, resourceKey, scheduleId, scheduledFor },
    }));
}

interface Others {
  readonly inProgress: readonly StoredRun[];
  readonly queued: readonly StoredRun[];
}

function isFree(state: ControlState, run: StoredRun, { inProgress, queued }: Others): boolean {
  if (state.connections.get(run.connectionId)?.status !== 'active' || run.cancelRequestedAt !== null) return false;
  if (inProgress.some(({ laneId }) => laneId === run.laneId)) return false;
  if (queued.some(({ laneId, seq }) => laneId === run.laneId && seq < run.seq)) return false;
  const isWaitedFor = (other: StoredRun) =>
    other.connectionId === run.connectionId && run.waitsFor.includes(other.resourceKey);
  return !inProgress.some(isWaitedFor) && !queued.some((other) => isWaitedFor(other) && other.seq < run.seq);
}

const classes: Readonly<Record<StoredRun['trigger'], number>> = { manual: 1, schedule: 2, webhook: 2, backfill: 3 };

const inOrder = (a: StoredRun, b: StoredRun): number => classes[a.trigger] - classes[b.trigger] || a.seq - b.seq;

/** As `noteReady` of the real module: false when the lane is not free. */
export function noteReadyIn(state: ControlState, runId: string): boolean {
  const run = state.runs.get(runId);
  if (run?.status !== 'queued') return false;
  const others = state.runs.where(({ id, laneId }) => laneId === run.laneId && id !== run.id);
  if (others.some(({ status, seq }) => status === 'running' || (status === 'queued' && seq < run.seq))) return false;
  state.runs.update(run, { readyAt: state.now() });
  return true;
}

/** As `findNextRuns` of the real module. */
export function findNextRunsIn(state: ControlState, endedId: string): AddressedRun[] {
  const ended = state.runs.get(endedId);
  const [next] = state.runs
    .where(({ laneId, status }) => laneId === ended?.laneId && status === 'queued')
    .toSorted((a, b) => a.seq - b.seq);
  if (next) state.runs.update(next, { readyAt: state.now() });
  return runsInTurn(state, next?.id ?? null);
}
