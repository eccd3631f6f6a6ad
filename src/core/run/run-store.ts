import type { JsonObject } from '../json/json-object.ts';
import type { DeletionState } from '../model/receipt.ts';
import type { Retry } from '../model/record-page.ts';
import type { RunPosition } from '../model/run-position.ts';
import type { ListedResult, ListedScan, Scan, ScanResult } from '../model/scan.ts';
import type { Validators } from '../model/validators.ts';
import type { EarlierReads } from '../source/source.ts';

/** A quarantined record to retry, with its row. */
export interface Requeued extends Retry {
  readonly record: unknown;
  readonly each: JsonObject;
}

/** A known record that an API no longer has. */
export interface GoneRecord {
  readonly externalId: string;
  /** No version of it is at the destination. */
  readonly isUndelivered: boolean;
}

/** A page of deleted records, in the order of their external ids. */
export interface GonePage {
  /** Last external id of the previous page, or `null` for the first page. */
  readonly after: string | null;
  readonly limit: number;
}

/** A known, live record that a list of deleted records names. */
export interface ListedRecord extends GoneRecord {
  readonly cursor: string | null;
  /** When it was last read within the scope of the list; `since`: earlier, but after the list was last read whole. */
  readonly seen: 'now' | 'since' | 'before';
  /** State of the last named deletion, or `null` if none was named or the list has dropped it since. */
  readonly mark: {
    readonly state: DeletionState;
    readonly deletedAt: string | null;
    readonly isOfThisRun: boolean;
    /** The record was read in the run that named it, or later. */
    readonly isSeen: boolean;
    /** The record was read after the run that named it. */
    readonly isSeenSince: boolean;
  } | null;
}

/** The stored state of a known record that a list names. */
export interface StoredListed extends GoneRecord {
  readonly cursor: string | null;
  /** `runs.seq` of the last run that saw it within the scope of the list, or `null`. */
  readonly seenRun: number | null;
  /** `runs.seq` of the last run that read the list whole, or `null`. */
  readonly listRun: number | null;
  readonly state: DeletionState | null;
  readonly listedRun: number | null;
  readonly deletedAt: string | null;
}

/** Interprets stored state as of the run `seq`; see {@link ListedQuestion} for `drops`. */
export function listedRecord(
  { seenRun, listRun, state, listedRun, deletedAt, externalId, isUndelivered, cursor }: StoredListed,
  { seq, drops }: { readonly seq: number; readonly drops: boolean },
): ListedRecord {
  const seen = seenRun === seq ? 'now' : seenRun !== null && seenRun > (listRun ?? 0) ? 'since' : 'before';
  const known = { externalId, isUndelivered, cursor, seen } as const;
  if (state === null || listedRun === null) return { ...known, mark: null };
  // The record was already there when the list was last read whole, and the list did not name it.
  const isLeftOut = drops && listedRun < (listRun ?? 0) && seen === 'before';
  const [isSeen, isSeenSince] = [(seenRun ?? 0) >= listedRun, (seenRun ?? 0) > listedRun];
  return {
    ...known,
    mark: isLeftOut ? null : { state, deletedAt, isOfThisRun: listedRun === seq, isSeen, isSeenSince },
  };
}

/** Records named by a list of deleted records. */
export interface ListedQuestion {
  /** The partition of the list, empty if it covers the whole resource. */
  readonly partition: string;
  readonly externalIds: readonly string[];
  /** A deletion that the list has dropped does not come back: if it is named again, the record was deleted again. */
  readonly drops: boolean;
}

/** One value of a dimension of the partitions. */
export interface DimensionValue {
  /** Unique in its dimension, at most 512 bytes. */
  readonly key: string;
  /** Requests see it as `each.<as>`. */
  readonly value: unknown;
}

/** A combination of one value of each dimension. */
export interface Combination {
  readonly no: number;
  readonly keys: readonly string[];
}

/** A partition and its stored parents. */
export interface PartitionParents {
  readonly key: string;
  readonly parents: readonly { readonly resourceKey: string; readonly externalId: string }[];
}

/** A record of a parent resource. */
export interface Parent {
  readonly externalId: string;
  /** `null` if no fields are stored for its children. */
  readonly fields: JsonObject | null;
}

/** State of a partition stored by earlier runs. */
export interface StoredPartition extends EarlierReads {
  /** As canonical text, `null` until a read has reached a point that can be a watermark. */
  readonly watermark: string | null;
  readonly validators: Validators | null;
  /** Watermark when the list of deleted records was last read to its end, or `null`. */
  readonly deletionsTo: string | null;
  /** Digest of its values that shape its records or requests, as of the last complete read; `null` if none do or unknown. */
  readonly shape: string | null;
}

/** State of a partition that was never read. */
export const neverRead: StoredPartition = {
  watermark: null,
  validators: null,
  firstStart: null,
  readAt: null,
  deletionsTo: null,
  shape: null,
};

/** Storage and queries of a run between its pages; nothing here is delivered. */
export interface RunStore {
  /** Nothing is deleted at the source while a run reads, so no list of deleted records is read before it. */
  readonly isStill?: true;
  /** Records to retry, after the quarantine row `after`, oldest first. */
  requeued(options: { readonly after: string | null; readonly limit: number }): Promise<readonly Requeued[]>;
  clearDimension(dimension: number): Promise<void>;
  /** Adds values with new keys, and moves the run to `position`, in one transaction. */
  addToDimension(dimension: number, values: readonly DimensionValue[], position: RunPosition): Promise<void>;
  dimensionCounts(dimensions: readonly number[]): Promise<readonly number[]>;
  /** The value at a place in the dimension, from 0; throws if it does not exist. */
  dimensionValue(dimension: number, no: number): Promise<DimensionValue>;
  /** Combinations in the order of their numbers; the values of the last dimension change fastest. */
  combinations(
    dimensions: readonly number[],
    page: { readonly from: number; readonly limit: number },
  ): Promise<readonly Combination[]>;
  /** Keys of the partitions that were not read to their end since one of their parents changed. */
  changedPartitions(partitions: readonly PartitionParents[]): Promise<ReadonlySet<string>>;
  /** An ISO instant such that every change of stored parents up to it is visible from now on. */
  listingInstant(resourceKey: string): Promise<string>;
  /** Stored records of a parent resource, by external id; `changed`: those changed since their partition was read. */
  parents(
    resourceKey: string,
    options: { readonly after: string | null; readonly limit: number; readonly select: 'all' | 'changed' },
  ): Promise<readonly Parent[]>;
  /** Whether every record of a parent resource is stored: it was read whole since its records were last forgotten. */
  isComplete(resourceKey: string): Promise<boolean>;
  partition(key: string): Promise<StoredPartition>;
  /** Counts records that this run proves missing, and flagged ones. */
  countMissing(scan: Scan): Promise<ScanResult>;
  /** Records due for deletion, by external id. */
  findMissing(scan: Scan, page: GonePage): Promise<readonly GoneRecord[]>;
  /** Whether a gap may hide that a known record is missing. */
  hidesMissing(scan: Scan): Promise<boolean>;
  /** Whether records are known although no partition has a watermark: the progress of the lane was reset. */
  startsOver(): Promise<boolean>;
  /** Notes that this run delivers records from before its watermark: a rewind then begins further back. */
  noteReadsBefore(): Promise<void>;
  countKnown(): Promise<number>;
  readSoFar(): Promise<{ readonly recordsIn: number; readonly recordsOut: number }>;
  /** Rows of the last replacement of the table, 0 if none is known. */
  countReplaced(): Promise<number>;
  /** External ids of records known as deleted, in order. */
  findDeleted(options: { readonly after: string | null; readonly limit: number }): Promise<readonly string[]>;
  /** The given records that are known and live within the scope of the list. */
  findListed(asked: ListedQuestion): Promise<readonly ListedRecord[]>;
  /** Counts listed records that no later read has shown, and flagged ones. */
  countListed(scan: ListedScan): Promise<ListedResult>;
  /** Listed records due for deletion, by external id. */
  findDue(scan: ListedScan, page: GonePage): Promise<readonly GoneRecord[]>;
  /** Whether the run has quarantined and omitted nothing so far. */
  isClean(): Promise<boolean>;
}
