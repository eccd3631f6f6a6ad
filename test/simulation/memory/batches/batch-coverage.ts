import type { LaneScan } from '../../../../db/queries/runs/records/missing-records.ts';
import type { PartitionProof, PlacedRecords, Receipt } from '../../../../src/core/model/receipt.ts';
import { nothingRead } from '../lanes/rewind.ts';
import { closeListed, endListed, putListed } from '../records/listed-deletions.ts';
import { missingIn, placesOf, proofsIn } from '../records/missing-records.ts';
import { type ControlState, keyOf, type StoredPartitionRow, type StoredRun } from '../store/control-state.ts';
import { knownOf, nothingKnown } from '../store/lane-state.ts';
import { stored } from '../store/stored-json.ts';

/** As the function of the same name. */
export function putCoverage(state: ControlState, { orgId, laneId, seq }: StoredRun, receipt: Receipt): void {
  for (const { partition, externalIds } of receipt.seen) {
    for (const record of knownOf(state, laneId, externalIds)) {
      state.records.update(record, { missed: null, missedRun: null, ...(partition === '' && { seenRun: seq }) });
      if (partition !== '') state.places.put({ laneId, externalId: record.externalId, partition, seenRun: seq });
    }
  }
  for (const { partition, externalIds } of receipt.left ?? []) putLeft(state, { laneId, seq, partition, externalIds });
  for (const { externalId, cursor } of receipt.flagged ?? []) {
    const known = state.records.get(keyOf(laneId, externalId));
    if (known && known.status !== 'deleted')
      state.records.update(known, { flaggedRun: seq, hash: '', cursor: cursor ?? known.cursor });
  }
  for (const externalId of receipt.deleted) {
    const known = state.records.get(keyOf(laneId, externalId)) ?? { ...nothingKnown, laneId, externalId };
    const noMarks = { undelivered: null, flaggedRun: null, partition: '', missed: null, missedRun: null } as const;
    state.records.put({ ...known, ...noMarks, status: 'deleted' });
    state.places.deleteWhere((row) => row.laneId === laneId && row.externalId === externalId);
  }
  closeListed(state, laneId, receipt.deleted);
  for (const { partition, proof, completed } of receipt.proofs) {
    const known = state.partitions.get(keyOf(laneId, partition));
    const isGap = known?.proofRun === seq && known.proof === 'gap';
    state.partitions.put({
      ...(known ?? { ...nothingRead, firstStart: null, listRun: null, shape: null, updatedAt: state.now() }),
      ...{ orgId, laneId, partition, proof: isGap ? 'gap' : proof, proofRun: seq, pending: stored(completed) as never },
    });
  }
  if (receipt.listed) putListed(state, { laneId, seq }, receipt.listed);
  if (receipt.listedEnd) endListed(state, { laneId, seq }, receipt.listedEnd);
  if (receipt.scan) endScan(state, { ...receipt.scan, laneId, seq });
}

function putLeft(
  state: ControlState,
  { laneId, seq, partition, externalIds }: PlacedRecords & { readonly laneId: number; readonly seq: number },
): void {
  for (const externalId of externalIds) {
    const isOf = (row: { readonly laneId: number; readonly externalId: string }) =>
      row.laneId === laneId && row.externalId === externalId;
    const places = state.places.where(isOf);
    const isHere = places.some((place) => place.partition === partition);
    state.places.deleteWhere((row) => isOf(row) && row.partition === partition);
    const record = state.records.get(keyOf(laneId, externalId));
    if ((isHere || places.length === 0) && record && record.status !== 'deleted')
      state.records.update(record, { flaggedRun: seq });
  }
}

function endScan(state: ControlState, scan: LaneScan): void {
  const hasGap = [...proofsIn(state, scan).values()].some((proof) => proof !== 'whole');
  if (!scan.isPartitioned && !scan.endsOnly && hasGap) return;
  if (!scan.endsOnly) {
    countMissed(state, scan);
    const isUnlisted = ({ laneId, partition, proofRun }: StoredPartitionRow) =>
      laneId === scan.laneId && partition !== '' && proofRun !== scan.seq;
    if (scan.coversAll) state.partitions.deleteWhere(isUnlisted);
  }
  if (scan.isPartitioned) leavePartitions(state, scan);
  endPartitions(state, scan);
}

function leavePartitions(state: ControlState, scan: LaneScan): void {
  const { laneId, seq, coversAll } = scan;
  const proofs = proofsIn(state, scan);
  const lacks = (partition: string) => (proofs.get(partition) ?? (coversAll ? 'whole' : 'gap')) === 'whole';
  const waits = (externalId: string) => state.records.get(keyOf(laneId, externalId))?.missedRun === seq;
  state.places.deleteWhere(
    (row) => row.laneId === laneId && row.seenRun !== seq && lacks(row.partition) && !waits(row.externalId),
  );
  for (const record of state.records.where((row) => row.laneId === laneId && row.partition !== '')) {
    if (lacks(record.partition) && record.seenRun !== seq && record.missedRun !== seq)
      state.records.update(record, { partition: '' });
  }
}

function endPartitions(state: ControlState, { laneId, seq }: LaneScan): void {
  for (const row of state.partitions.where((each) => each.laneId === laneId && each.proofRun === seq)) {
    const pending = row.pending as PartitionProof['completed'];
    if (row.proof !== 'whole' || pending === null) continue;
    const waiting = state.records.where(
      (record) => record.laneId === laneId && record.missed !== null && record.missedRun === seq,
    );
    const isIn = (record: (typeof waiting)[number]) =>
      placesOf(state, record).some(({ partition }) => partition === row.partition);
    if (waiting.some(isIn)) continue;
    const { listedAt, validators, readAt, watermark } = pending;
    state.partitions.update(row, {
      ...{ pending: null, listedAt: listedAt ?? row.listedAt, validators, updatedAt: state.now() },
      ...{ readAt: readAt ?? row.readAt, watermark: watermark ?? row.watermark },
    });
  }
}

function countMissed(state: ControlState, scan: LaneScan): void {
  const { laneId, seq } = scan;
  for (const { externalId } of missingIn(state, scan)) {
    const record = state.records.get(keyOf(laneId, externalId));
    if (record && record.missedRun !== seq)
      state.records.update(record, { missed: (record.missed ?? 0) + 1, missedRun: seq });
  }
}
