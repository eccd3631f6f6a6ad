/** Rules for comparing the records that a run read with the known ones. */
export interface Scan {
  readonly isPartitioned: boolean;
  /** The run listed all partitions: an unlisted one has no records, and a record without one is missing if all are whole. */
  readonly coversAll: boolean;
  /** The run was to list all partitions, whether or not it succeeded. */
  readonly listsAll: boolean;
  /** Consecutive complete reads that must lack a record before it counts as deleted, at least 1. */
  readonly confirm: number;
  /** The run missed part of the source: only records that it flagged itself are certainly deleted. */
  readonly hasGaps: boolean;
  /** Only completes partitions that were read whole, without comparing records. */
  readonly endsOnly?: true;
}

/** Rules for the deletions that lists have named. */
export interface ListedScan {
  /** The run listed all partitions and read all their lists, so a record is in no other partition. */
  readonly coversAll: boolean;
  /** See {@link Scan.hasGaps}. */
  readonly hasGaps: boolean;
}

/** Listed deletions that are not done yet. */
export interface ListedResult {
  /** Records to delete: listed, or flagged. */
  readonly due: number;
  /** Named deletions that are not done, and records that left a partition, whether or not they will be deleted. */
  readonly open: number;
}

/** The result of a comparison. */
export interface ScanResult {
  readonly missing: number;
  readonly flagged: number;
  /** Records to delete now: flagged ones, and missing ones that enough consecutive reads lack. */
  readonly due: number;
}
