import type { Proof } from '../model/coverage.ts';
import type { Receipt, RecordEntry } from '../model/receipt.ts';
import type { ListedScan } from '../model/scan.ts';
import type { KnownRecord } from '../pipeline/known-records.ts';
import type { StoredListed } from '../run/run-store.ts';
import {
  isElsewhere,
  isGone,
  type ListRuns,
  lastSeen,
  livingPlaces,
  type NamedRecord,
  type StoredDeletion,
} from './listed-among.ts';
import type { Compared, ComparedRecord } from './missing-among.ts';

interface StoredRecord extends KnownRecord, ComparedRecord, Pick<RecordEntry, 'externalId' | 'fields'> {}

/** The records of one resource in memory, by the rules of the control database. */
export interface MemoryRecords {
  load(externalIds: readonly string[]): readonly StoredRecord[];
  record(
    receipt: Pick<
      Receipt,
      'records' | 'notFetched' | 'deliveredBefore' | 'seen' | 'left' | 'deleted' | 'flagged' | 'proofs' | 'listed'
    >,
  ): void;
  /** Like `RunStore.findListed`, with stored state. */
  listed(partition: string, externalIds: readonly string[]): readonly StoredListed[];
  /** External ids of the records to delete: listed, or flagged. */
  due(scan: ListedScan): readonly string[];
  countOpen(scan: ListedScan): number;
  /** Live records by external id, with the proofs of the run. */
  compared(): Compared<StoredRecord>;
}

/** Records of which `known` were delivered by earlier runs, in a version that differs from every response. */
export function createMemoryRecords(known: readonly string[]): MemoryRecords {
  const records = new Map<string, StoredRecord>();
  const proofs = new Map<string, Proof>();
  const deletions = new Map<string, StoredDeletion>();
  const listRuns = new Set<string>();
  const runs: ListRuns = {
    seq: runSeq,
    listRunOf: (partition) => ((partition === '' ? listRuns.size > 0 : listRuns.has(partition)) ? runSeq : null),
  };
  const namedOf = ({ externalId, status, places }: StoredRecord): NamedRecord => ({
    isLive: status !== 'deleted',
    places: places.map(({ partition, isSeen }) => ({ partition, seenRun: isSeen ? runSeq : null })),
    deletions: [...deletions.values()].filter((one) => one.externalId === externalId),
  });
  const change = (externalId: string, part: Partial<StoredRecord>): void =>
    void records.set(externalId, { ...(records.get(externalId) ?? unseen(externalId)), ...part });
  const isLive = (externalId: string): boolean => (records.get(externalId)?.status ?? 'deleted') !== 'deleted';
  for (const externalId of known) change(externalId, {});
  return {
    load: (externalIds) =>
      externalIds.flatMap((externalId) => {
        const record = records.get(externalId);
        if (record === undefined) return [];
        return record.isFlagged && record.hash === '' && record.places.length === 0
          ? { ...record, status: 'flagged' as const }
          : record;
      }),
    record({
      records: versions,
      notFetched = [],
      deliveredBefore,
      seen,
      left = [],
      deleted,
      flagged = [],
      proofs: proved,
      listed = [],
    }) {
      for (const version of versions) {
        const { status: before = 'deleted', isFlagged = false } = records.get(version.externalId) ?? {};
        const isUndelivered =
          version.status === 'quarantined' &&
          (before === 'undelivered' || before === 'deleted') &&
          !deliveredBefore.includes(version.externalId);
        const status = isUndelivered ? 'undelivered' : version.status;
        const stays = isFlagged && notFetched.includes(version.externalId);
        change(version.externalId, { ...version, status, isFlagged: stays });
      }
      for (const { partition, externalIds } of seen)
        for (const externalId of externalIds) {
          const places = records.get(externalId)?.places.filter((place) => place.partition !== partition);
          if (places) change(externalId, { places: [...places, { partition, isSeen: true }] });
        }
      for (const { partition, externalIds } of left)
        for (const externalId of externalIds) {
          const before = records.get(externalId)?.places ?? [];
          const places = before.filter((place) => place.partition !== partition);
          const leaves = isLive(externalId) && (places.length < before.length || places.length === 0);
          change(externalId, { places, ...(leaves && { isFlagged: true }) });
        }
      for (const { externalId, cursor } of flagged)
        if (isLive(externalId)) change(externalId, { isFlagged: true, hash: '', ...(cursor !== null && { cursor }) });
      for (const externalId of deleted) change(externalId, { status: 'deleted', isFlagged: false, places: [] });
      for (const [key, one] of deletions)
        if (deleted.includes(one.externalId)) deletions.set(key, { ...one, state: 'done' });
      for (const { partition, named, end } of listed) {
        for (const one of named)
          deletions.set(keyOf(partition, one.externalId), { ...one, partition, listedRun: runSeq });
        if (end !== null) listRuns.add(partition);
      }
      for (const { partition, proof } of proved) if (proofs.get(partition) !== 'gap') proofs.set(partition, proof);
    },
    listed: (partition, externalIds) =>
      externalIds
        .flatMap((externalId) => records.get(externalId) ?? [])
        .filter(({ status, places }) => {
          const isHere = places.length === 0 || places.some((place) => place.partition === partition);
          return status !== 'deleted' && (partition === '' || isHere);
        })
        .map((record) => {
          const { externalId, cursor, status } = record;
          const one = deletions.get(keyOf(partition, externalId));
          return {
            ...{ externalId, isUndelivered: status === 'undelivered' },
            cursor: isElsewhere(record, partition) ? null : cursor,
            ...{ state: one?.state ?? null, listedRun: one?.listedRun ?? null, deletedAt: one?.deletedAt ?? null },
            seenRun: lastSeen(namedOf(record), partition),
            listRun: runs.listRunOf(partition),
          };
        }),
    due: (scan) =>
      [...records.values()]
        .filter((record) => {
          const named = namedOf(record);
          const isLeft = record.isFlagged && livingPlaces(named, { ...scan, ...runs }).length === 0;
          return isLeft || isGone(named, { ...scan, ...runs });
        })
        .map(({ externalId }) => externalId)
        .toSorted(),
    countOpen: ({ coversAll }) =>
      [...deletions.values()].filter(({ state }) => state !== 'done').length +
      [...records.values()].filter(({ isFlagged, status }) => coversAll && isFlagged && status !== 'deleted').length,
    compared: () => ({
      records: [...records.values()]
        .filter(({ status }) => status !== 'deleted')
        .toSorted((a, b) => (a.externalId < b.externalId ? -1 : 1)),
      proofs,
    }),
  };
}

/** The number of the only run. */
export const runSeq = 1;

const keyOf = (partition: string, externalId: string): string => JSON.stringify([partition, externalId]);

const unseen = (externalId: string): StoredRecord => ({
  externalId,
  hash: '',
  cursor: null,
  status: 'delivered',
  fields: null,
  isFlagged: false,
  places: [],
});
