/** What is known of a lane: records, partitions, watermark. */
import { isDeepStrictEqual } from 'node:util';
import type { PartitionEntry, Receipt } from '../../../../src/core/model/receipt.ts';
import { type ControlState, keyOf, type StoredRun } from './control-state.ts';
import { stored, storedObject } from './stored-json.ts';

type OfLane = Pick<StoredRun, 'orgId' | 'laneId'>;

/** A record of which nothing is known but its status. */
export const nothingKnown = {
  ...{ hash: '', cursor: null, fields: null, changedAt: null, partition: '', seenRun: null },
  ...{ missed: null, missedRun: null, undelivered: null, flaggedRun: null },
} as const;

/** Inserts the records, or puts this version in place of the stored one. Throws when one is there twice. */
export function putRecords(
  state: ControlState,
  { laneId }: Pick<StoredRun, 'laneId'>,
  { records, notFetched = [], deliveredBefore }: Pick<Receipt, 'records' | 'notFetched' | 'deliveredBefore'>,
): void {
  refuseTwice(records.map(({ externalId }) => externalId));
  for (const { externalId, hash, cursor, status, fields } of records) {
    const before = state.records.get(keyOf(laneId, externalId));
    const known = before ?? { partition: '', seenRun: null, missed: null, missedRun: null };
    const hasNothing = !before || before.undelivered || before.status === 'deleted';
    const isUndelivered = status === 'quarantined' && hasNothing && !deliveredBefore.includes(externalId);
    state.records.put({
      ...known,
      laneId,
      externalId,
      hash: Buffer.from(hash, 'base64url').toString('base64url'),
      cursor,
      status,
      undelivered: isUndelivered || null,
      flaggedRun: notFetched.includes(externalId) ? (before?.flaggedRun ?? null) : null,
      fields: fields === null ? null : storedObject(fields),
      changedAt: fields === null ? null : state.now(),
    });
  }
}

/** Notes how far partitions are read. Throws when one is there twice. */
export function putPartitions(
  state: ControlState,
  { orgId, laneId }: OfLane,
  entries: readonly PartitionEntry[],
): void {
  const written: string[] = [];
  for (const { partition, watermark, completed, firstStart, shape } of entries) {
    refuseTwice([...written, partition]);
    const known = state.partitions.get(keyOf(laneId, partition));
    const read = {
      watermark,
      listedAt: completed?.listedAt ?? known?.listedAt ?? null,
      validators: stored(completed?.validators ?? null),
      firstStart: firstStart ?? known?.firstStart ?? null,
      readAt: completed?.readAt ?? known?.readAt ?? null,
      deletionsTo: completed?.deletionsTo ?? known?.deletionsTo ?? null,
      shape: shape ?? known?.shape ?? null,
    };
    // Nothing is written where nothing changes.
    if (known && isDeepStrictEqual({ ...known, ...read }, known)) continue;
    written.push(partition);
    const { proof = null, proofRun = null, pending = null, listRun = null } = known ?? {};
    const kept = { proof, proofRun, pending, listRun };
    state.partitions.put({ orgId, laneId, partition, ...read, ...kept, updatedAt: state.now() });
  }
}

function refuseTwice(keys: readonly string[]): void {
  if (new Set(keys).size < keys.length) throw new Error('ON CONFLICT DO UPDATE cannot affect row a second time');
}

/** The stored ones of the given records, each once. */
export const knownOf = (state: ControlState, laneId: number, externalIds: readonly string[]) =>
  [...new Set(externalIds)].flatMap((externalId) => state.records.get(keyOf(laneId, externalId)) ?? []);

/** The lowest watermark of a lane, null while one of its partitions has none; integers compare as numbers. */
export function laneWatermark(state: ControlState, laneId: number): string | null {
  const watermarks = state.partitions.where((row) => row.laneId === laneId).map(({ watermark }) => watermark);
  const known = watermarks.filter((watermark) => watermark !== null);
  if (known.length < watermarks.length || known.length === 0) return null;
  return lowerWatermark(known);
}

/** The lowest of some watermarks. */
export function lowerWatermark(watermarks: readonly string[]): string {
  if (!watermarks.every((watermark) => /^-?[0-9]+$/.test(watermark))) return watermarks.reduce(lowerText);
  return watermarks.reduce((least, text) => (isLess(text, least) ? text : least));
}

const isLess = (one: string, other: string): boolean =>
  BigInt(one) === BigInt(other) ? lowerText(one, other) !== other : BigInt(one) < BigInt(other);

const lowerText = (a: string, b: string): string => (Buffer.compare(Buffer.from(a), Buffer.from(b)) <= 0 ? a : b);
