import type * as real from '../../../../db/queries/runs/lanes/begin-run.ts';
import type { ControlState } from '../store/control-state.ts';
import { laneWatermark } from '../store/lane-state.ts';
import { memoryOf } from '../store/memory-db.ts';
import { ending } from './end-run.ts';
import { rewindLaneIn } from './rewind.ts';
import { noteReadyIn, runsInTurn } from './turns.ts';

/** As the query of the same name; no event is recorded. */
export const beginRun: typeof real.beginRun = async (db, _scope, runId, options) => {
  const attempt = () =>
    memoryOf(db).transact('beginRun', (state) => tryToBegin(state, runId, options?.onlyIfQuick ?? false));
  const tried = await attempt();
  const { isNewlyReady: _, ...begun } = tried.isNewlyReady ? await attempt() : tried;
  return begun;
};

interface BeginResult extends real.Begun {
  /** It waits, and was not marked as ready until now. */
  readonly isNewlyReady: boolean;
}

function tryToBegin(state: ControlState, runId: string, onlyIfQuick: boolean): BeginResult {
  const run = state.runs.get(runId);
  const isQuick = (run && state.lanes.get(String(run.laneId))?.quick) ?? false;
  const notBegun = { isQuick, isFirst: false, isNewlyReady: false, eventsFor: 0 };
  if (!run || (onlyIfQuick && !isQuick)) return { ...notBegun, turn: null };
  if (run.status !== 'queued') return { ...notBegun, turn: run.status };
  const connection = state.connections.get(run.connectionId);
  if (connection?.status !== 'active') {
    state.runs.update(run, { status: 'canceled', ...ending(state) });
    return { ...notBegun, turn: 'canceled' };
  }
  if (run.cancelRequestedAt === null && runsInTurn(state, runId).some(({ id }) => id === runId)) {
    const watermark = laneWatermark(state, run.laneId);
    state.runs.update(run, {
      status: 'running',
      startedAt: state.now(),
      progressedAt: state.now(),
      attempts: 1,
      dispatchedAt: run.dispatchedAt ?? state.now(),
      watermarkBefore: watermark,
      watermarkAfter: watermark,
      specVersion: connection.pinnedSpecVersion,
      specOverridesJson: connection.specOverridesJson,
      paramsJson: connection.paramsJson,
      accessNo: connection.accessNo,
    });
    if (run.backfill?.rewind) rewindLaneIn(state, { runId, to: run.backfill.from });
    return { ...notBegun, turn: 'running', isFirst: true };
  }
  const isReady = noteReadyIn(state, runId);
  return { ...notBegun, turn: 'waiting', isNewlyReady: isReady && run.readyAt === null };
}
