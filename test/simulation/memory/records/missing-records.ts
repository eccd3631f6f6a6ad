import type * as real from '../../../../db/queries/runs/records/missing-records.ts';
import {
  type Compared,
  type ComparedRecord,
  goneAmong,
  hidesAmong,
  missingAmong,
} from '../../../../src/core/memory-run/missing-among.ts';
import type { Proof } from '../../../../src/core/model/coverage.ts';
import { type ControlState, keyOf, type StoredRecord } from '../store/control-state.ts';
import { memoryOf } from '../store/memory-db.ts';

/** As the query of the same name. */
export const countMissing: typeof real.countMissing = (db, _scope, scan) =>
  memoryOf(db).transact('countMissing', (state) => {
    const { missing, flagged } = goneAmong(comparedIn(state, scan), scan);
    const isThere = ({ externalId }: ComparedRecord) =>
      state.records.get(keyOf(scan.laneId, externalId))?.undelivered !== true;
    return { missing: missing.length, flagged: flagged.filter(isThere).length, due: dueIn(state, scan).length };
  });

/** As the query of the same name. */
export const findMissing: typeof real.findMissing = (db, _scope, { after, limit, ...scan }) =>
  memoryOf(db).transact('findMissing', (state) =>
    dueIn(state, scan)
      .map(({ externalId }) => externalId)
      .toSorted()
      .filter((externalId) => after === null || externalId > after)
      .slice(0, limit)
      .map((externalId) => {
        const record = state.records.get(keyOf(scan.laneId, externalId));
        return { externalId, isUndelivered: record?.undelivered ?? false };
      }),
  );

/** As the query of the same name. */
export const hidesMissing: typeof real.hidesMissing = (db, _scope, scan) =>
  memoryOf(db).transact('hidesMissing', (state) => hidesAmong(comparedIn(state, scan), scan));

/** As the query of the same name. */
export const startsOver: typeof real.startsOver = (db, _scope, laneId) =>
  memoryOf(db).transact('startsOver', (state) => {
    const isBegun = state.partitions.where((row) => row.laneId === laneId && row.watermark !== null).length > 0;
    return liveOf(state, laneId).length > 0 && !isBegun;
  });

/** As the query of the same name. */
export const countKnown: typeof real.countKnown = (db, _scope, laneId) =>
  memoryOf(db).transact('countKnown', (state) => liveOf(state, laneId).length);

/** As the query of the same name. */
export const findDeleted: typeof real.findDeleted = (db, _scope, { laneId, after, limit }) =>
  memoryOf(db).transact('findDeleted', (state) =>
    state.records
      .where((row) => row.laneId === laneId && row.status === 'deleted' && (after === null || row.externalId > after))
      .map(({ externalId }) => externalId)
      .toSorted()
      .slice(0, limit),
  );

function dueIn(state: ControlState, scan: real.LaneScan): readonly ComparedRecord[] {
  const { missing, flagged } = goneAmong(comparedIn(state, scan), scan);
  return [...flagged, ...missing.filter(isDue(state, scan))];
}

/** The records that a run proves to be missing. */
export const missingIn = (state: ControlState, scan: real.LaneScan): readonly ComparedRecord[] =>
  missingAmong(comparedIn(state, scan), scan);

/** What a run has proved of the partitions of its lane, by their keys. */
export const proofsIn = (
  state: ControlState,
  { laneId, seq }: Pick<real.LaneScan, 'laneId' | 'seq'>,
): ReadonlyMap<string, Proof> =>
  new Map(
    state.partitions
      .where((row) => row.laneId === laneId && row.proofRun === seq)
      .map(({ partition, proof }) => [partition, proof as Proof]),
  );

/** Where a record was, also as an earlier version of the service has stored it. */
export const placesOf = (state: ControlState, { laneId, externalId, partition, seenRun }: StoredRecord) => [
  ...state.places.where((row) => row.laneId === laneId && row.externalId === externalId),
  { partition, seenRun },
];

const comparedIn = (state: ControlState, scan: real.LaneScan): Compared<ComparedRecord> => ({
  records: liveOf(state, scan.laneId).map((record) => ({
    externalId: record.externalId,
    isFlagged: record.flaggedRun !== null,
    isSure: record.flaggedRun === scan.seq || !scan.hasGaps,
    places: (scan.isPartitioned ? placesOf(state, record) : [record]).map(({ partition, seenRun }) => ({
      partition,
      isSeen: seenRun === scan.seq,
    })),
  })),
  proofs: proofsIn(state, scan),
});

const liveOf = (state: ControlState, laneId: number): StoredRecord[] =>
  state.records.where((row) => row.laneId === laneId && row.status !== 'deleted');

const isDue =
  (state: ControlState, { laneId, seq, confirm }: real.LaneScan) =>
  ({ externalId }: ComparedRecord): boolean => {
    const { missed = null, missedRun = null } = state.records.get(keyOf(laneId, externalId)) ?? {};
    return confirm === 1 || (missed ?? 0) + (missedRun === seq ? 0 : 1) >= confirm;
  };
