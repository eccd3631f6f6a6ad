import type { Proof } from '../model/coverage.ts';
import type { Receipt, RecordEntry } from '../model/receipt.ts';
import type { KnownRecord } from '../pipeline/known-records.ts';
import type { Compared, ComparedRecord } from './missing-among.ts';

/** A record as the control database would know it. */
interface StoredRecord extends KnownRecord, ComparedRecord, Pick<RecordEntry, 'externalId' | 'fields'> {}

/** The records of one resource in memory. */
export interface MemoryRecords {
  /** The stored versions of the given records. */
  load(externalIds: readonly string[]): readonly StoredRecord[];
  /** Takes what a page says of records. */
  record(receipt: Pick<Receipt, 'records' | 'deliveredBefore' | 'seen' | 'deleted' | 'proofs'>): void;
  /** Records that are not deleted, by external id, with what the run has proved. */
  compared(): Compared<StoredRecord>;
}

/** Records of which `known` were delivered by earlier runs, in a version that no response repeats. */
export function createMemoryRecords(known: readonly string[]): MemoryRecords {
  const records = new Map<string, StoredRecord>();
  const proofs = new Map<string, Proof>();
  const change = (externalId: string, part: Partial<StoredRecord>): void =>
    void records.set(externalId, { ...(records.get(externalId) ?? unseen(externalId)), ...part });
  for (const externalId of known) change(externalId, {});
  return {
    load: (externalIds) => externalIds.flatMap((externalId) => records.get(externalId) ?? []),
    record({ records: versions, deliveredBefore, seen, deleted, proofs: proved }) {
      for (const version of versions) {
        const { status: before = 'deleted' } = records.get(version.externalId) ?? {};
        const isUndelivered =
          version.status === 'quarantined' &&
          (before === 'undelivered' || before === 'deleted') &&
          !deliveredBefore.includes(version.externalId);
        change(version.externalId, isUndelivered ? { ...version, status: 'undelivered' } : version);
      }
      for (const { partition, externalIds } of seen)
        for (const externalId of externalIds) {
          const places = records.get(externalId)?.places.filter((place) => place.partition !== partition);
          if (places) change(externalId, { places: [...places, { partition, isSeen: true }] });
        }
      for (const externalId of deleted) change(externalId, { status: 'deleted', places: [] });
      for (const { partition, proof } of proved) if (proofs.get(partition) !== 'gap') proofs.set(partition, proof);
    },
    compared: () => ({
      records: [...records.values()]
        .filter(({ status }) => status !== 'deleted')
        .toSorted((a, b) => (a.externalId < b.externalId ? -1 : 1)),
      proofs,
    }),
  };
}

const unseen = (externalId: string): StoredRecord => ({
  externalId,
  hash: '',
  cursor: null,
  status: 'delivered',
  fields: null,
  places: [],
});
