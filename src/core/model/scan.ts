/** How a run compares what it read with the records that are known. */
export interface Scan {
  /** Whether the resource has partitions. */
  readonly isPartitioned: boolean;
  /**
   * The run listed all partitions: one that it did not list has no records, and a record without a partition is missing
   * where all of them are whole.
   */
  readonly coversAll: boolean;
  /** The run was to list all partitions, whether or not it knows them all. */
  readonly listsAll: boolean;
  /** How many complete reads in a row must lack a record before it counts as deleted; at least 1. */
  readonly confirm: number;
  /** The run has not read everything that it was to read: only what it has flagged itself is sure to be deleted. */
  readonly hasGaps: boolean;
  /** Nothing is concluded: partitions that were read whole come to their end. Absent: records are compared. */
  readonly endsOnly?: true;
}

/** How a run decides which of the deletions that lists have named are made. */
export interface ListedScan {
  /** The run listed all partitions and read the lists of all: a record is in no other one. */
  readonly coversAll: boolean;
  /** See {@link Scan.hasGaps}. */
  readonly hasGaps: boolean;
}

/** What lists have named that is not done yet. */
export interface ListedResult {
  /** Records that are to be deleted: lists have named them, or they say so. */
  readonly due: number;
  /** Named deletions that are not done, and records that have left a partition, whether or not they will be deleted. */
  readonly open: number;
}

/** What a comparison has found. */
export interface ScanResult {
  /** Records that this run has proved to be missing. */
  readonly missing: number;
  /** Records that say that they are deleted. */
  readonly flagged: number;
  /** What is to be deleted now: those, and missing ones that enough reads in a row have lacked. */
  readonly due: number;
}
