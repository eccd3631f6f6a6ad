import { type Gaps, gapsOf } from './coverage.ts';
import type { ReadPosition } from './read-position.ts';
import type { Validators } from './validators.ts';

/** Totals of the partitions read so far. */
export interface PartitionTotals {
  readonly count: number;
  readonly skipped: number;
  /** Partitions read again from their start, as the API forgot what changed; 0 if others were read again, absent if none. */
  readonly again?: number;
  /** Why absent records must not count as deleted. */
  readonly gaps: Gaps;
  /** Gaps of the list of partitions alone; absent if an earlier version of the service listed them, which proves nothing. */
  readonly listGaps?: Gaps;
  /** The list of deleted records of a partition was not read whole. */
  readonly isListUnknown?: true;
}

/** Progress in a list of deleted records. */
export interface ListProgress {
  readonly gaps: Gaps;
  /**
   * The list names a record that only the next run can decide on. It was read in this run (`now`), or `since` the list
   * was last read whole.
   */
  readonly pending: 'now' | 'since' | null;
}

/** The position of a run within a partition. */
export interface PartitionPosition {
  readonly stage: 'partition';
  /** From 0, in the order of the partitions. */
  readonly no: number;
  /**
   * `named`: the list of deleted records before the first read; `read`: records; `listed`: the list after them. `sweep`
   * does nothing and supports an earlier version of the service.
   */
  readonly step: 'named' | 'read' | 'listed' | 'sweep';
  /** `null` at the first page. */
  readonly read: ReadPosition | null;
  /** Watermark before the run as canonical text, or `null`; unchanged while the run moves the stored one. */
  readonly watermarkBefore: string | null;
  /** Validators of its first page, stored once the partition is complete. */
  readonly validators: Validators | null;
  /** ISO instant as of which it is complete, stored at its end; unchanged if absent. */
  readonly readAt?: string;
  readonly gaps: Gaps;
  /** Whether the list read before the records was whole; absent if none was read. */
  readonly isNamed?: boolean;
  readonly list?: ListProgress;
  readonly totals: PartitionTotals;
  /** ISO start of the list of partitions, or `null` without parents. */
  readonly listedAt: string | null;
}

/** The position of a run that lists its partitions. */
export interface ListPosition {
  readonly stage: 'list';
  /** Number of the current list (list-steps.ts), or the number of lists once all are made. */
  readonly dimension: number;
  /** External id of the last stored parent, `null` at the first. */
  readonly after: string | null;
  /** Page of the live parents, `null` at the first. */
  readonly read: ReadPosition | null;
  /**
   * In a list made part by part: the partition of the live parents, and how many before it were refused. In groups and
   * combinations, `no` is the next one to process.
   */
  readonly part: { readonly no: number; readonly refused: number } | null;
  /** ISO, `null` until the list has begun. */
  readonly listedAt: string | null;
  readonly gaps: Gaps;
  /** An error rule skipped some of the parents. */
  readonly incomplete: boolean;
}

/** The start of the list of partitions. */
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
 * Where a run continues, as plain JSON, with its stages in order; runs store their names. `bury` repeats known deletes
 * for a rewind or a destination that lost batches. `retry` takes quarantined records; `list` and `partition` read the
 * partitions. `sweep` makes the deletions found, and `switch` replaces a table.
 */
export type RunPosition =
  | { readonly stage: 'bury'; readonly after: string | null }
  | { readonly stage: 'retry'; readonly after: string | null }
  | ListPosition
  | PartitionPosition
  | {
      readonly stage: 'sweep';
      readonly totals: PartitionTotals;
      /** For a read without partitions, stored once its deletions are made. */
      readonly validators?: Validators | null;
    }
  | { readonly stage: 'switch'; readonly gaps: Gaps };

/** The first position of a run. */
export const runStart: RunPosition = { stage: 'retry', after: null };

/** The first position of a run that begins with the deletes. */
export const deletesFirst: RunPosition = { stage: 'bury', after: null };

/** Upgrades a position that an earlier version of the service may have stored. */
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
