import type { Scan } from '../model/scan.ts';
import {
  type GonePage,
  type GoneRecord,
  listedRecord,
  neverRead,
  type Parent,
  type RunStore,
} from '../run/run-store.ts';
import { createMemoryDimensions } from './memory-dimensions.ts';
import type { MemoryLedger } from './memory-ledger.ts';
import { runSeq } from './memory-records.ts';
import { type ComparedRecord, goneAmong, hidesAmong } from './missing-among.ts';

interface MemoryStoreOptions {
  readonly ledger: MemoryLedger;
  readonly now: Date;
  /** Stored records of a parent resource, by external id. */
  readonly parentsOf: (resourceKey: string) => Promise<readonly Parent[]>;
  readonly valuesMax: number;
}

/** The store of a run in memory, without records to retry. */
export function createMemoryStore({ ledger, now, parentsOf, valuesMax }: MemoryStoreOptions): RunStore {
  const { records } = ledger;
  const goneOf = (scan: Scan) => {
    const { flagged, missing } = goneAmong(records.compared(), scan);
    // Nothing was missing before the run.
    return { flagged, missing, due: scan.confirm > 1 ? flagged : [...flagged, ...missing].toSorted(byId) };
  };
  return {
    isStill: true,
    requeued: async () => [],
    ...createMemoryDimensions(valuesMax),
    // Nothing was read before the run.
    changedPartitions: async (partitions) => new Set(partitions.map(({ key }) => key)),
    listingInstant: async () => now.toISOString(),
    async parents(resourceKey, { after, limit }) {
      const parents = await parentsOf(resourceKey);
      return parents.filter(({ externalId }) => after === null || externalId > after).slice(0, limit);
    },
    // A run of their resource has read them all.
    isComplete: async () => true,
    partition: async (key) => ({
      ...neverRead,
      watermark: ledger.watermarkOf(key),
      deletionsTo: ledger.watermarkBefore,
    }),
    async countMissing(scan) {
      const { missing, flagged, due } = goneOf(scan);
      return { missing: missing.length, flagged: flagged.length, due: due.length };
    },
    findMissing: async (scan, page) => pageOf(goneOf(scan).due.map(idOf), page).map((id) => goneRecord(records, id)),
    hidesMissing: async (scan) => hidesAmong(records.compared(), scan),
    startsOver: async () => false,
    noteReadsBefore: async () => undefined,
    countKnown: async () => records.compared().records.length,
    readSoFar: async () => ledger.totals().stats,
    countReplaced: async () => 0,
    findDeleted: async () => [],
    findListed: async ({ partition, externalIds, drops }) =>
      records.listed(partition, externalIds).map((record) => listedRecord(record, { seq: runSeq, drops })),
    countListed: async (scan) => ({ due: records.due(scan).length, open: records.countOpen(scan) }),
    findDue: async (scan, page) => pageOf(records.due(scan), page).map((id) => goneRecord(records, id)),
    isClean: async () => ledger.isClean(),
  };
}

const pageOf = (ids: readonly string[], { after, limit }: GonePage): readonly string[] =>
  ids.filter((id) => after === null || id > after).slice(0, limit);

const idOf = ({ externalId }: ComparedRecord): string => externalId;
const byId = (a: ComparedRecord, b: ComparedRecord): number => (a.externalId < b.externalId ? -1 : 1);

const goneRecord = (records: MemoryLedger['records'], externalId: string): GoneRecord => ({
  externalId,
  isUndelivered: records.load([externalId])[0]?.status === 'undelivered',
});
