import type { Receipt, RecordEntry } from '../model/receipt.ts';
import type { KnownRecord } from '../pipeline/known-records.ts';

/** A record as the control database would know it. */
interface StoredRecord extends KnownRecord, Pick<RecordEntry, 'externalId' | 'fields'> {
  /** Where a full scan saw it; empty: nowhere so far, or there are no partitions. */
  readonly partition: string;
  /** Whether this run has seen it. */
  readonly seen: boolean;
}

/** The records of one resource in memory. */
export interface MemoryRecords {
  /** The stored versions of the given records. */
  load(externalIds: readonly string[]): readonly StoredRecord[];
  /** Takes what a page says of records. */
  record(receipt: Pick<Receipt, 'records' | 'seen' | 'deleted'>): void;
  /** Records that are not deleted, by external id; null: of all partitions. */
  live(partition: string | null): readonly StoredRecord[];
}

/** Records of which `known` were delivered by earlier runs, in a version that no response repeats. */
export function createMemoryRecords(known: readonly string[]): MemoryRecords {
  const records = new Map<string, StoredRecord>();
  const change = (externalId: string, part: Partial<StoredRecord>): void =>
    void records.set(externalId, { ...(records.get(externalId) ?? unseen(externalId)), ...part });
  for (const externalId of known) change(externalId, {});
  return {
    load: (externalIds) => externalIds.flatMap((externalId) => records.get(externalId) ?? []),
    record({ records: versions, seen, deleted }) {
      for (const version of versions) change(version.externalId, version);
      for (const { partition, externalIds } of seen)
        for (const externalId of externalIds)
          if (records.has(externalId)) change(externalId, { partition, seen: true });
      for (const externalId of deleted) change(externalId, { status: 'deleted' });
    },
    live: (partition) =>
      [...records.values()]
        .filter((record) => record.status !== 'deleted' && (partition === null || record.partition === partition))
        .toSorted((a, b) => (a.externalId < b.externalId ? -1 : 1)),
  };
}

const unseen = (externalId: string): StoredRecord => ({
  externalId,
  hash: '',
  cursor: null,
  status: 'delivered',
  fields: null,
  partition: '',
  seen: false,
});
