import type * as real from '../../../../db/queries/runs/records/listed-deletions.ts';
import {
  isDue,
  isElsewhere,
  isGone,
  type ListRuns,
  lastSeen,
  livingPlaces,
  type NamedRecord,
} from '../../../../src/core/memory-run/listed-among.ts';
import type { ListedDeletions, ListedEnd } from '../../../../src/core/model/receipt.ts';
import { type ControlState, keyOf, type StoredListing, type StoredRecord } from '../store/control-state.ts';
import { knownOf } from '../store/lane-state.ts';
import { memoryOf } from '../store/memory-db.ts';

/** As the query of the same name. */
export const findListed: typeof real.findListed = (db, _scope, { laneId, partition, externalIds }) =>
  memoryOf(db).transact('findListed', (state) =>
    knownOf(state, laneId, externalIds)
      .filter(({ status }) => status !== 'deleted')
      .map((record) => ({ record, named: namedIn(state, laneId, record) }))
      .filter(({ named: { places } }) => {
        const listed = places.filter((place) => place.partition !== '');
        return partition === '' || listed.length === 0 || listed.some((place) => place.partition === partition);
      })
      .map(({ record, named }) => {
        const known = state.listed.get(keyOf(laneId, record.externalId, partition));
        return {
          ...{ externalId: record.externalId, isUndelivered: record.undelivered ?? false },
          cursor: isElsewhere(named, partition) ? null : record.cursor,
          ...{ state: known?.state ?? null, listedRun: known?.listedRun ?? null, deletedAt: known?.deletedAt ?? null },
          seenRun: lastSeen(named, partition),
          listRun: listRunIn(state, laneId, partition),
        };
      }),
  );

/** As the query of the same name. */
export const countListed: typeof real.countListed = (db, _scope, listed) =>
  memoryOf(db).transact('countListed', (state) => ({
    due: goneIn(state, listed).length,
    open:
      state.listed.where((row) => row.laneId === listed.laneId && row.state !== 'done').length +
      state.records.where(
        (row) =>
          listed.coversAll && row.laneId === listed.laneId && row.flaggedRun !== null && row.status !== 'deleted',
      ).length,
  }));

/** As the query of the same name. */
export const findDue: typeof real.findDue = (db, _scope, { after, limit, ...listed }) =>
  memoryOf(db).transact('findDue', (state) =>
    goneIn(state, listed)
      .toSorted((a, b) => (a.externalId < b.externalId ? -1 : 1))
      .filter(({ externalId }) => after === null || externalId > after)
      .slice(0, limit)
      .map(({ externalId, undelivered }) => ({ externalId, isUndelivered: undelivered ?? false })),
  );

const goneIn = (state: ControlState, listed: real.LaneListed): readonly StoredRecord[] =>
  state.records
    .where(({ laneId }) => laneId === listed.laneId)
    .filter((record) => {
      const named = namedIn(state, listed.laneId, record);
      const scan = { ...listed, ...runsIn(state, listed) };
      return (isFlagged(record, listed) && livingPlaces(named, scan).length === 0) || isGone(named, scan);
    });

const isFlagged = ({ flaggedRun }: StoredRecord, { seq, hasGaps }: real.LaneListed): boolean =>
  hasGaps ? flaggedRun === seq : flaggedRun !== null;

const runsIn = (state: ControlState, { laneId, seq }: Pick<real.LaneListed, 'laneId' | 'seq'>): ListRuns => ({
  seq,
  listRunOf: (partition) => listRunIn(state, laneId, partition),
});

function listRunIn(state: ControlState, laneId: number, partition: string): number | null {
  const rows = state.partitions.where(
    (row) => row.laneId === laneId && (partition === '' || row.partition === partition),
  );
  const runs = rows.flatMap(({ listRun }) => listRun ?? []);
  return runs.length === 0 ? null : Math.max(...runs);
}

const namedIn = (state: ControlState, laneId: number, record: StoredRecord | string): NamedRecord => {
  const externalId = typeof record === 'string' ? record : record.externalId;
  const known = state.records.get(keyOf(laneId, externalId));
  const isOf = (row: { readonly laneId: number; readonly externalId: string }) =>
    row.laneId === laneId && row.externalId === externalId;
  return {
    isLive: known !== undefined && known.status !== 'deleted',
    places: [...state.places.where(isOf), { partition: '', seenRun: known?.seenRun ?? null }],
    deletions: state.listed.where(isOf),
  };
};

interface Of {
  readonly laneId: number;
  readonly seq: number;
}

/** As the function of the same name. */
export function putListed(state: ControlState, { laneId, seq }: Of, listed: readonly ListedDeletions[]): void {
  for (const { partition, named, end } of listed) {
    for (const one of named) state.listed.put({ laneId, partition, ...one, listedRun: seq });
    const isRead = (row: { readonly laneId: number; readonly partition: string }) =>
      row.laneId === laneId && (partition === '' || row.partition === partition);
    if (end === null) continue;
    state.partitions.updateWhere(isRead, { listRun: seq });
    const isLeftOut = (row: StoredListing) =>
      row.state === 'before' || (end === 'all' && row.state !== 'done' && row.listedRun < seq);
    state.listed.deleteWhere((row) => row.laneId === laneId && row.partition === partition && isLeftOut(row));
  }
}

/** As the function of the same name. */
export function endListed(state: ControlState, { laneId, seq }: Of, { isHeld, ...scan }: ListedEnd): void {
  const listed = { ...scan, ...runsIn(state, { laneId, seq }) };
  const ofLane = (row: { readonly laneId: number }) => row.laneId === laneId;
  if (isHeld) state.partitions.updateWhere(ofLane, { deletionsTo: null });
  else {
    const leaving = state.places.where(ofLane).filter(({ externalId, partition }) => {
      const record = namedIn(state, laneId, externalId);
      const living = livingPlaces(record, listed);
      const isNamed = record.deletions.some((one) => one.partition === partition && isDue(record, one));
      return living.length > 0 && isNamed;
    });
    for (const { externalId, partition } of leaving) {
      state.places.deleteWhere((row) => ofLane(row) && row.externalId === externalId && row.partition === partition);
      const row = state.listed.get(keyOf(laneId, externalId, partition));
      if (row) state.listed.update(row, { state: 'done' });
    }
    if (scan.coversAll)
      state.partitions.deleteWhere((row) => ofLane(row) && row.partition !== '' && row.listRun !== seq);
  }
  for (const record of state.records.where((row) => scan.coversAll && ofLane(row) && row.flaggedRun !== null)) {
    if (livingPlaces(namedIn(state, laneId, record), listed).length > 0)
      state.records.update(record, { flaggedRun: null });
  }
  const isForgotten = (row: StoredListing): boolean => {
    const record = namedIn(state, laneId, row.externalId);
    return row.state === 'due' && !(record.isLive && isDue(record, row));
  };
  const forgotten = new Set(state.listed.where(ofLane).filter(isForgotten));
  state.listed.deleteWhere((row) => forgotten.has(row));
}

/** As the function of the same name. */
export function closeListed(state: ControlState, laneId: number, externalIds: readonly string[]): void {
  state.listed.updateWhere((row) => row.laneId === laneId && externalIds.includes(row.externalId), { state: 'done' });
}
