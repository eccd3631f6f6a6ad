import { type Gaps, gapsOf } from './coverage.ts';
import type { ReadPosition } from './read-position.ts';
import type { Validators } from './validators.ts';

/** Totals of the partitions read so far. */
export interface PartitionTotals {
  /** Partitions of the run. */
  readonly count: number;
  /** Partitions that an error rule skipped. */
  readonly skipped: number;
  /**
   * Partitions that were read again from their start, as the API had forgotten what changed. Absent: none was read again; 0: none from
   * its start.
   */
  readonly again?: number;
  /** Why absent records must not count as deleted; empty: everything read so far was whole. */
  readonly gaps: Gaps;
  /** The gaps of the list of partitions alone. Absent: an earlier version of the service listed them, which proves nothing. */
  readonly listGaps?: Gaps;
  /** The list of deleted records of a partition was not read whole; absent: each was so far. */
  readonly isListUnknown?: true;
}

/** A list of deleted records, as far as it is read. */
export interface ListProgress {
  readonly gaps: Gaps;
  /**
   * It names a record of which only the next run shows whether it lives, and which was read in this run, or in one since the list
   * was last read whole. Null: it names none.
   */
  readonly pending: 'now' | 'since' | null;
}

/** Where in a partition a run is, and what held before it came there. */
export interface PartitionPosition {
  readonly stage: 'partition';
  /** The number of the partition, from 0, in the order of the partitions. */
  readonly no: number;
  /**
   * `named`: the list of deleted records before the first read; `read`: its records; `listed`: the list of deleted ones;
   * `sweep`: nothing, for an earlier version of the service.
   */
  readonly step: 'named' | 'read' | 'listed' | 'sweep';
  /** The place in the read; null: at the first page. */
  readonly read: ReadPosition | null;
  /**
   * The watermark before the run as canonical text; null: none. It stays the same while the run moves the stored one.
   */
  readonly watermarkBefore: string | null;
  /** The validators of its first page, to be stored once the partition is complete. */
  readonly validators: Validators | null;
  /** As of when it is read to its end, to be stored once the partition is complete; ISO. Absent: as it was before. */
  readonly readAt?: string;
  /** The {@link PartitionTotals.gaps} of this partition alone. */
  readonly gaps: Gaps;
  /** Whether the list of deleted records that was read before the records was whole. Absent: none was. */
  readonly isNamed?: boolean;
  /** What the pages of the list of deleted records have shown so far; absent: nothing is read of it. */
  readonly list?: ListProgress;
  readonly totals: PartitionTotals;
  /** When the list of partitions was begun; null: it has no parents. ISO. */
  readonly listedAt: string | null;
}

/** Where the list of the partitions is. */
export interface ListPosition {
  readonly stage: 'list';
  /** The number of the run's list that is made (list-steps.ts), or of all lists once all are. */
  readonly dimension: number;
  /** External id of the last stored parent; null: at the first. */
  readonly after: string | null;
  /** Page of the parents that are read live; null: at the first. */
  readonly read: ReadPosition | null;
  /**
   * The place in a list that is made part by part: the partition of the parents that is read live, and how many before
   * it an error rule gave up; or the first combination that is to be looked at. Null: at the first.
   */
  readonly part: { readonly no: number; readonly refused: number } | null;
  /** When the list was begun; null: not yet. ISO. */
  readonly listedAt: string | null;
  /** Why some parents may not be listed: see {@link PartitionTotals.gaps}. */
  readonly gaps: Gaps;
  /** An error rule gave up a part of the parents. */
  readonly incomplete: boolean;
}

/** Where the list of the partitions begins. */
export const listBegin: ListPosition = {
  stage: 'list',
  dimension: 0,
  after: null,
  read: null,
  part: null,
  listedAt: null,
  gaps: [],
  incomplete: false,
};

/**
 * Where a run continues. Plain JSON. Its stages come in this order. `bury` repeats known deletes in a run that sets its
 * lane back, or that delivers again what its destination has lost. `retry` takes records that are tried again. `list` and
 * `partition` read the list of partitions and each partition. `sweep` deletes the records that are missing, and `switch`
 * replaces a table. Runs store the names of the stages.
 */
export type RunPosition =
  | { readonly stage: 'bury'; readonly after: string | null }
  | { readonly stage: 'retry'; readonly after: string | null }
  | ListPosition
  | PartitionPosition
  | {
      readonly stage: 'sweep';
      readonly totals: PartitionTotals;
      /** Of a read without partitions: to be stored once its deletions are made. Absent or null: none. */
      readonly validators?: Validators | null;
    }
  | { readonly stage: 'switch'; readonly gaps: Gaps };

/** The first position of a run. */
export const runStart: RunPosition = { stage: 'retry', after: null };

/** The first position of a run that begins with the deletes. */
export const deletesFirst: RunPosition = { stage: 'bury', after: null };

/** The position in its form of today: an earlier version of the service may have stored it. */
export function currentPosition(stored: RunPosition): RunPosition {
  switch (stored.stage) {
    case 'bury':
    case 'retry':
      return stored;
    case 'list':
    case 'switch':
      return { ...stored, gaps: gapsOf(stored.gaps) };
    case 'partition':
      return { ...stored, gaps: gapsOf(stored.gaps), totals: currentTotals(stored.totals) };
    case 'sweep':
      return { ...stored, totals: currentTotals(stored.totals) };
  }
}

const currentTotals = ({ gaps, listGaps, ...totals }: PartitionTotals): PartitionTotals => ({
  ...totals,
  gaps: gapsOf(gaps),
  ...(listGaps !== undefined && { listGaps: gapsOf(listGaps) }),
});
