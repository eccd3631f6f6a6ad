import type { LastBatch, WrittenColumns } from '../destinations/destination.ts';
import type { Receipt } from '../model/receipt.ts';
import type { RunPosition } from '../model/run-position.ts';

/** `stop`: the run was canceled or ended; `stale`: recorded before; `fenced`: a newer attempt holds the lane. */
export type Recorded =
  | { readonly outcome: 'recorded'; readonly stop: boolean }
  | { readonly outcome: 'stale' | 'fenced' };

/** `recorded`: the ledger has the batches, so none was passed over; `fenced`: a newer attempt holds the lane. */
export type PassedOver = 'passed' | 'recorded' | 'fenced';

/** The result of forgetting a lane. */
export interface Forgotten {
  readonly records: number;
  /** Where the run continues, or `null` at its beginning. */
  readonly position: RunPosition | null;
  readonly generation: string;
}

/** The ledger of a lane, as one attempt at a run writes it; each call is atomic and idempotent. */
export interface RunLedger {
  readonly written: WrittenColumns;
  /** Prepares recording this receipt while an earlier batch is still in progress. */
  prepare(receipt: Receipt): void;
  /**
   * Records a batch: fingerprints, quarantine, counts, position, watermark; `applied` is false if it brings nothing and
   * was not sent.
   */
  record(receipt: Receipt, applied: boolean): Promise<Recorded>;
  /**
   * Leaves the last batch of the run, which brings nothing, to the transaction that ends the run. If this attempt does
   * not end the run, the pages are read again.
   */
  leaveToEnd(receipt: Receipt): void;
  /** Records a batch of an earlier run that the destination has applied in this one: its records count here. */
  recordCarried(receipt: Receipt): Promise<Recorded>;
  /** Passes over the batches of this run up to `batchNo`, which only the destination knows. */
  passOver(batchNo: number): Promise<PassedOver>;
  /**
   * Whether the destination, whose last batch is given, lacks one that it had applied. Returns an ISO time from which
   * all may be missing, or `null`; with `onlyOwn`, batches of earlier runs do not count.
   */
  behindSince(last: LastBatch, onlyOwn: boolean): Promise<string | null>;
  /** Notes before a call that the destination may have more than is recorded; `false` if a newer attempt holds the lane. */
  clearRecordedWith(): Promise<boolean>;
  /**
   * Notes records at the destination that the ledger does not know, so that it can find them missing. Any version read
   * of them is delivered; `false` if a newer attempt holds the lane.
   */
  noteLeftovers(externalIds: readonly string[]): Promise<boolean>;
  /** Notes that no record at the destination is unknown; `false` if a newer attempt holds the lane. */
  noteCompared(): Promise<boolean>;
  /** Notes that the destination may have any record, since it was restored; `false` if a newer attempt holds the lane. */
  noteRestored(): Promise<boolean>;
  /**
   * Deletes fingerprints and watermark of the lane, which becomes another generation. If a newer attempt holds the
   * lane, nothing is changed and the result is `null`.
   */
  forget(): Promise<Forgotten | null>;
}
