/** The known records of a lane, in memory, over several runs. */

import { goneAmong, hidesAmong } from '../../../src/core/memory-run/missing-among.ts';
import type { Proof } from '../../../src/core/model/coverage.ts';
import type { Receipt, RecordEntry } from '../../../src/core/model/receipt.ts';
import type { Scan } from '../../../src/core/model/scan.ts';
import type { KnownRecord } from '../../../src/core/pipeline/known-records.ts';
import type { GoneRecord, RunStore } from '../../../src/core/run/run-store.ts';

/** A record as the control database would know it. */
interface LaneRecord extends KnownRecord, Pick<RecordEntry, 'externalId' | 'fields'> {
  readonly places: readonly { readonly partition: string; readonly isSeen: boolean }[];
  /** Complete reads in a row that lacked it. */
  readonly missed: number;
  readonly isFlagged: boolean;
}

type LaneStore = Pick<
  RunStore,
  | 'countMissing'
  | 'findMissing'
  | 'hidesMissing'
  | 'countKnown'
  | 'findDeleted'
  | 'findListed'
  | 'countListed'
  | 'findDue'
>;

/** The records of a lane. */
export interface LaneRecords {
  readonly store: LaneStore;
  /** Begins a run, which has seen and proved nothing yet. */
  begin(): void;
  load(externalIds: readonly string[]): readonly LaneRecord[];
  record(receipt: Receipt): void;
}

const gone = ({ externalId, status }: LaneRecord): GoneRecord => ({
  externalId,
  isUndelivered: status === 'undelivered',
});

/** A lane that knows nothing. */
export function createLaneRecords(): LaneRecords {
  const records = new Map<string, LaneRecord>();
  const proofs = new Map<string, Proof>();
  const change = (externalId: string, part: Partial<LaneRecord>): void =>
    void records.set(externalId, { ...(records.get(externalId) ?? unseen(externalId)), ...part });
  const compared = () => ({ records: [...records.values()].filter(({ status }) => status !== 'deleted'), proofs });
  const missing = (scan: Scan) => goneAmong(compared(), scan).missing;
  const due = (scan: Scan) => {
    const { flagged } = goneAmong(compared(), scan);
    return [...flagged, ...missing(scan).filter(({ missed }) => missed + 1 >= scan.confirm)];
  };
  const load = (externalIds: readonly string[]) => externalIds.flatMap((id) => records.get(id) ?? []);
  return {
    store: {
      async countMissing(scan) {
        const { missing: lacking, flagged } = goneAmong(compared(), scan);
        return { missing: lacking.length, flagged: flagged.length, due: due(scan).length };
      },
      findMissing: async (scan, { after, limit }) =>
        due(scan)
          .filter(({ externalId }) => after === null || externalId > after)
          .slice(0, limit)
          .map(gone),
      hidesMissing: async (scan) => hidesAmong(compared(), scan),
      countKnown: async () => compared().records.length,
      findDeleted: async () => [],
      // No list that moves here has one of deleted records beside it.
      findListed: async () => [],
      countListed: async () => ({ due: 0, open: 0 }),
      findDue: async () => [],
    },
    load,
    begin() {
      proofs.clear();
      for (const { externalId, places } of records.values())
        change(externalId, { places: places.map((place) => ({ ...place, isSeen: false })) });
    },
    record({ records: versions, seen, deleted, flagged = [], proofs: proved, scan }) {
      for (const version of versions) change(version.externalId, { ...version, missed: 0, isFlagged: false });
      for (const { partition, externalIds } of seen)
        for (const externalId of externalIds) {
          const places = (records.get(externalId)?.places ?? []).filter((place) => place.partition !== partition);
          change(externalId, { places: [...places, { partition, isSeen: true }], missed: 0 });
        }
      for (const { externalId } of flagged) change(externalId, { isFlagged: true, hash: '' });
      for (const externalId of deleted) change(externalId, { status: 'deleted', isFlagged: false, places: [] });
      for (const { partition, proof } of proved) if (proofs.get(partition) !== 'gap') proofs.set(partition, proof);
      if (scan) for (const { externalId, missed } of missing(scan)) change(externalId, { missed: missed + 1 });
    },
  };
}

const unseen = (externalId: string): LaneRecord => ({
  externalId,
  hash: '',
  cursor: null,
  status: 'delivered',
  fields: null,
  places: [],
  missed: 0,
  isFlagged: false,
});
