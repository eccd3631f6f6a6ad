import { isDeepStrictEqual } from 'node:util';
import type * as real from '../../../../db/queries/runs/lanes/conform-lane.ts';
import { forgetsRecords } from '../../../../src/core/spec/connection/meaning.ts';
import { closeAllIn } from '../records/requeue.ts';
import type { ControlState, StoredRecord } from '../store/control-state.ts';
import { memoryOf } from '../store/memory-db.ts';
import { deleteRecordStates, noteCleared } from './forget-lane.ts';
import { clearProgressIn, rewindStart } from './rewind.ts';

/** As the query of the same name. */
export const conformLane: typeof real.conformLane = (db, _scope, conformation) =>
  memoryOf(db).transact('conformLane', (state) => {
    const { laneId, fence, runId, before, meaning, changed } = conformation;
    const lane = state.lanes.get(String(laneId));
    if (lane?.fence !== fence || !isDeepStrictEqual(lane.meaning, before)) return null;
    const anew = () => ({ generation: state.newGeneration(), recordedWith: null, recordedSince: null });
    const { generation } = state.lanes.update(lane, { meaning, ...(forgetsRecords(changed) && anew()) });
    if (changed.length > 0) resetIn(state, conformation);
    return { position: state.runs.get(runId)?.position ?? null, generation };
  });

function resetIn(state: ControlState, { laneId, runId, changed }: real.Conformation): void {
  if (changed.every((facet) => facet === 'fields')) clearProgressIn(state, laneId);
  else state.partitions.deleteWhere((row) => row.laneId === laneId);
  if (forgetsRecords(changed)) {
    deleteRecordStates(state, { laneId, runId });
    passOverEndedRuns(state, { laneId, runId });
  } else {
    const ofLane = (row: { readonly laneId: number }) => row.laneId === laneId;
    if (changed.includes('cursor') || changed.includes('read')) {
      state.records.updateWhere(ofLane, { cursor: null });
      const hasLeft = (row: StoredRecord) => ofLane(row) && row.flaggedRun !== null && row.hash !== '';
      state.records.updateWhere(hasLeft, { flaggedRun: null });
      state.records.updateWhere(ofLane, { missed: null, missedRun: null });
      state.listed.deleteWhere(ofLane);
    }
    if (changed.includes('places')) {
      state.records.updateWhere(ofLane, { partition: '' });
      state.places.deleteWhere(ofLane);
    }
    if (changed.includes('account')) {
      state.records.updateWhere((row) => ofLane(row) && row.status === 'quarantined', { hash: '' });
      closeAllIn(state, laneId);
    }
    if (changed.includes('fields')) {
      noteCleared(state, { laneId, runId });
      state.records.updateWhere(ofLane, { fields: null });
      state.records.updateWhere((row) => ofLane(row) && row.status !== 'deleted', { hash: '' });
    }
  }
  const run = state.runs.get(runId);
  if (run?.laneId !== laneId || run.status !== 'running') return;
  state.runs.update(run, {
    ...{ watermarkBefore: null, watermarkAfter: null, readCompleted: false },
    position: run.backfill?.rewind ? rewindStart : null,
    notes: { ...run.notes, [forgetsRecords(changed) ? 'started_over' : 'read_from_start']: 1 },
  });
}

function passOverEndedRuns(state: ControlState, { laneId, runId }: Pick<real.Conformation, 'laneId' | 'runId'>): void {
  const ended = state.runs.where(
    (run) => run.laneId === laneId && run.id !== runId && run.status !== 'queued' && run.status !== 'running',
  );
  for (const other of ended) state.runs.update(other, { batchNo: other.batchNo + 1 });
}
