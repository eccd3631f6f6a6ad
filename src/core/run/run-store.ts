import type { JsonObject } from '../json/json-object.ts';
import type { DeletionState } from '../model/receipt.ts';
import type { Retry } from '../model/record-page.ts';
import type { RunPosition } from '../model/run-position.ts';
import type { ListedResult, ListedScan, Scan, ScanResult } from '../model/scan.ts';
import type { Validators } from '../model/validators.ts';
import type { EarlierReads } from '../source/source.ts';

/** A quarantined record that is to be retried, with its row. */
export interface Requeued extends Retry {
  readonly record: unknown;
  /** Values of the partition it was read in. */
  readonly each: JsonObject;
}

/** A known record that an API no longer has. */
export interface GoneRecord {
  readonly externalId: string;
  /** No version of it is at the destination. */
  readonly isUndelivered: boolean;
}

/** A part of them, by external id. */
export interface GonePage {
  /** External id of the last one before; null: from the first one on. */
  readonly after: string | null;
  readonly limit: number;
}

/** A known record that a list of deleted records names, and that is not deleted. */
export interface ListedRecord extends GoneRecord {
  /** The cursor value of its known version, canonical text; null: it has none. */
  readonly cursor: string | null;
  /** When it was last read where the list is of: in this run, in one since the list was last read whole, or before that. */
  readonly seen: 'now' | 'since' | 'before';
  /** The state of the deletion that the list named last; null: it named none, or has left it out since. */
  readonly mark: {
    readonly state: DeletionState;
    readonly deletedAt: string | null;
    /** It was named in this run. */
    readonly isOfThisRun: boolean;
    /** The record was read in the run that named it, or in a later one. */
    readonly isSeen: boolean;
    /** The record was read in a later run. */
    readonly isSeenSince: boolean;
  } | null;
}

/** A known record that a list names, with what is stored of it. */
export interface StoredListed extends GoneRecord {
  /** The cursor value of its known version, canonical text; null: it has none. */
  readonly cursor: string | null;
  /** `runs.seq` of the last run that saw it where the list is of; null: none did. */
  readonly seenRun: number | null;
  /** `runs.seq` of the last run that read the list whole; null: none did. */
  readonly listRun: number | null;
  /** The state of the deletion that was named last; null: none was. */
  readonly state: DeletionState | null;
  readonly listedRun: number | null;
  readonly deletedAt: string | null;
}

/** What is stored of a record, as the run `seq` sees it; `drops`: see `ListedQuestion`. */
export function listedRecord(
  { seenRun, listRun, state, listedRun, deletedAt, externalId, isUndelivered, cursor }: StoredListed,
  { seq, drops }: { readonly seq: number; readonly drops: boolean },
): ListedRecord {
  const seen = seenRun === seq ? 'now' : seenRun !== null && seenRun > (listRun ?? 0) ? 'since' : 'before';
  const known = { externalId, isUndelivered, cursor, seen } as const;
  if (state === null || listedRun === null) return { ...known, mark: null };
  // The record was there when the list was read whole, and the list did not name it.
  const isLeftOut = drops && listedRun < (listRun ?? 0) && seen === 'before';
  const [isSeen, isSeenSince] = [(seenRun ?? 0) >= listedRun, (seenRun ?? 0) > listedRun];
  return {
    ...known,
    mark: isLeftOut ? null : { state, deletedAt, isOfThisRun: listedRun === seq, isSeen, isSeenSince },
  };
}

/** Records that a list of deleted records names. */
export interface ListedQuestion {
  /** The partition whose list it is; empty: it is of the whole resource. */
  readonly partition: string;
  readonly externalIds: readonly string[];
  /** What a list has left out since it was named does not come back in it: if it is named again, it was deleted again. */
  readonly drops: boolean;
}

/** One value of a dimension of the partitions. */
export interface DimensionValue {
  /** Unique in its dimension, at most 512 bytes. */
  readonly key: string;
  /** What requests see of it as `each.<as>`. */
  readonly value: unknown;
}

/** A value of each of several dimensions. */
export interface Combination {
  readonly no: number;
  /** The keys of the values in the order of the dimensions. */
  readonly keys: readonly string[];
}

/** A partition and the stored parents for which it is read. */
export interface PartitionParents {
  readonly key: string;
  readonly parents: readonly { readonly resourceKey: string; readonly externalId: string }[];
}

/** A record of a parent resource. */
export interface Parent {
  readonly externalId: string;
  /** Null: nothing is stored of it that its children may be read with. */
  readonly fields: JsonObject | null;
}

/** What earlier runs stored about a partition. */
export interface StoredPartition extends EarlierReads {
  /** The watermark as canonical text; null: no read has reached a point that may be one. */
  readonly watermark: string | null;
  readonly validators: Validators | null;
  /** Its watermark when the list of deleted records was last read to its end; null: never. */
  readonly deletionsTo: string | null;
  /** What of its values shaped its records when it was last read to its end; null: nothing did, or it is not known. */
  readonly shape: string | null;
}

/** A partition that was never read. */
export const neverRead: StoredPartition = {
  watermark: null,
  validators: null,
  firstStart: null,
  readAt: null,
  deletionsTo: null,
  shape: null,
};

/** What a run stores and queries between its pages. Nothing here is delivered. */
export interface RunStore {
  /** Nothing is deleted while a run reads, so no list of deleted records is read before it. Absent: something may be. */
  readonly isStill?: true;
  /** Records to retry, after the quarantine row `after`, oldest first. */
  requeued(options: { readonly after: string | null; readonly limit: number }): Promise<readonly Requeued[]>;
  /** Empties a dimension. */
  clearDimension(dimension: number): Promise<void>;
  /** Adds the values whose keys the dimension does not have, and moves the run to `position`, in one transaction. */
  addToDimension(dimension: number, values: readonly DimensionValue[], position: RunPosition): Promise<void>;
  /** How many values each of the given dimensions has. */
  dimensionCounts(dimensions: readonly number[]): Promise<readonly number[]>;
  /** The value at a place in the dimension, from 0. Throws when there is none. */
  dimensionValue(dimension: number, no: number): Promise<DimensionValue>;
  /** The combinations of the values of the given dimensions from number `from` on; those of the last change fastest. */
  combinations(
    dimensions: readonly number[],
    page: { readonly from: number; readonly limit: number },
  ): Promise<readonly Combination[]>;
  /** Keys of those partitions that were not read to their end since each of the given parents changed. */
  changedPartitions(partitions: readonly PartitionParents[]): Promise<ReadonlySet<string>>;
  /** An instant such that every change of stored parents up to it is visible from now on; ISO. */
  listingInstant(resourceKey: string): Promise<string>;
  /** Stored records of a parent resource after `after`, by external id; `changed`: since their partition was read. */
  parents(
    resourceKey: string,
    options: { readonly after: string | null; readonly limit: number; readonly select: 'all' | 'changed' },
  ): Promise<readonly Parent[]>;
  /** Whether every record of a parent resource is stored: it was read whole since its records were last forgotten. */
  isComplete(resourceKey: string): Promise<boolean>;
  partition(key: string): Promise<StoredPartition>;
  /** Counts the records that this run proves to be missing, and those that say that they are deleted. */
  countMissing(scan: Scan): Promise<ScanResult>;
  /** Those that are due, in the order of their external ids. */
  findMissing(scan: Scan, page: GonePage): Promise<readonly GoneRecord[]>;
  /** Whether a known record may be missing where a gap hides it. */
  hidesMissing(scan: Scan): Promise<boolean>;
  /** Whether records are known although no partition has a watermark: what the lane knew of its progress was reset. */
  startsOver(): Promise<boolean>;
  /** Counts the records that are not known as deleted. */
  countKnown(): Promise<number>;
  /** What the run has read, and delivered, as far as it is recorded. */
  readSoFar(): Promise<{ readonly recordsIn: number; readonly recordsOut: number }>;
  /** The rows with which the table was last replaced; 0: it never was, as far as is known. */
  countReplaced(): Promise<number>;
  /** External ids of records that are known as deleted, after `after`, in order. */
  findDeleted(options: { readonly after: string | null; readonly limit: number }): Promise<readonly string[]>;
  /** Those of the given records that are known, and not deleted, where the list is of that names them. */
  findListed(asked: ListedQuestion): Promise<readonly ListedRecord[]>;
  /** Counts the records that lists have named and that no later read has shown, and those that say that they are deleted. */
  countListed(scan: ListedScan): Promise<ListedResult>;
  /** Those records, in the order of their external ids. */
  findDue(scan: ListedScan, page: GonePage): Promise<readonly GoneRecord[]>;
  /** Whether the run has delivered or skipped everything so far: it has quarantined and omitted nothing. */
  isClean(): Promise<boolean>;
}
