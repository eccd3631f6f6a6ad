import type { LastBatch, WrittenColumns } from '../destinations/destination.ts';
import type { Receipt } from '../model/receipt.ts';
import type { RunPosition } from '../model/run-position.ts';

/**
 * The result of recording a batch. `stop`: the run was canceled or ended. `stale`: recorded before. `fenced`: a newer
 * attempt holds the lane.
 */
export type Recorded =
  | { readonly outcome: 'recorded'; readonly stop: boolean }
  | { readonly outcome: 'stale' | 'fenced' };

/**
 * The result of leaving out batches. `recorded`: the ledger has them, so nothing was left out. `fenced`: a newer attempt
 * holds the lane.
 */
export type PassedOver = 'passed' | 'recorded' | 'fenced';

/** What was deleted of a lane. */
export interface Forgotten {
  /** Records that were known. */
  readonly records: number;
  /** Where the run continues; null: at its beginning. */
  readonly position: RunPosition | null;
  /** The generation that the lane has from now on. */
  readonly generation: string;
  /** The run is the first under another key: ids at the destination are of the one before. */
  readonly isRekeyed: boolean;
}

/** The ledger of a lane, as one attempt at a run writes it. Each call is all or nothing, and safe to repeat. */
export interface RunLedger {
  /** The columns that the lane has written at its destination. */
  readonly written: WrittenColumns;
  /** Prepares what recording this receipt needs, while an earlier batch is still in progress. */
  prepare(receipt: Receipt): void;
  /**
   * Records a batch: fingerprints, quarantine, counts, position, watermark. `applied`: the destination has it now; it was not
   * sent if it brings nothing.
   */
  record(receipt: Receipt, applied: boolean): Promise<Recorded>;
  /**
   * Leaves the last batch of the run, which brings nothing, to the end of the run: one transaction records both. A run that
   * does not end in this attempt reads it again.
   */
  leaveToEnd(receipt: Receipt): void;
  /** Records a batch of an earlier run that the destination has applied in this one: its records count here. */
  recordCarried(receipt: Receipt): Promise<Recorded>;
  /** Leaves out the batches of this run up to `batchNo`, which only the destination knows. */
  passOver(batchNo: number): Promise<PassedOver>;
  /**
   * Whether the destination, whose last batch this is, lacks one that it had applied: an ISO time, from which on all may be
   * missing; null: it lacks none. `onlyOwn`: batches of earlier runs do not count.
   */
  behindSince(last: LastBatch, onlyOwn: boolean): Promise<string | null>;
  /**
   * Notes that the destination may have more than is recorded, before it is called. False: a newer attempt holds the
   * lane.
   */
  clearRecordedWith(): Promise<boolean>;
  /**
   * Notes records that the destination has though the ledger knows nothing of them, so that it can find them missing; whatever
   * is read of them is delivered. False: a newer attempt holds the lane.
   */
  noteLeftovers(externalIds: readonly string[]): Promise<boolean>;
  /**
   * Deletes fingerprints and watermark of the lane, which becomes another generation. Null: a newer attempt holds the
   * lane, and nothing was changed.
   */
  forget(): Promise<Forgotten | null>;
}
