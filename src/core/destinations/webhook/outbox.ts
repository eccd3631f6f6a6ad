import type { Batch, RejectedRow } from '../../model/batch.ts';
import type { Checkpoint } from '../destination.ts';

/** One request of a batch, stored before it is sent and unchanged however often it is sent. */
export interface OutboxPart {
  /** The place of the part in its batch: `0`, `1`, and `1.0` and `1.1` for the halves of `1`. */
  readonly path: string;
  /** Holds records that the receiver requested again; sent after all others. */
  readonly again: boolean;
  /** The receiver has refused some of it in an unreadable form: a later response must name the refused records. */
  readonly isDoubted: boolean;
  /** The receiver may have some of its records: an earlier part with them was doubted. */
  readonly mayBeTaken: boolean;
  /** The receiver knows the part by this id: a repeated request has the same one. */
  readonly id: string;
  readonly body: string;
  /** Positions of its records in the batch: its rows, then its tombstones. */
  readonly indexes: readonly number[];
}

export interface PendingBatch extends Pick<Batch, 'runId' | 'batchNo' | 'receipt'> {
  /** The order matters for parts that share records. */
  readonly parts: readonly OutboxPart[];
  readonly rejected: readonly RejectedRow[];
  /** An earlier run read it. */
  readonly isCarried: boolean;
  /** It belongs to an earlier generation of the lane: it is sent, yet the target still counts as new to the lane. */
  readonly isOfBefore: boolean;
}

export interface OutboxPlace {
  readonly target: string;
  /** The target as earlier versions of the service stored it, sealed or as a hash: their outbox still counts. */
  readonly formerTarget: string;
  /** The same for still earlier ones, as a hash. */
  readonly targetBefore: string;
  readonly generation: string;
}

interface OpenedOutbox {
  /** The last completed batch; `null` if none of this generation at this target. */
  readonly checkpoint: Checkpoint | null;
  readonly pending: PendingBatch | null;
  /** Receipt of an earlier run's batch that this run has sent and completed. */
  readonly carried: string | null;
  /** Number of the run's last stored request, at any target; 0 if none. */
  readonly sequence: number;
  /** Bytes that the receiver accepts in one request, as found by the run; `null` if it found no bound. */
  readonly bytesMax: number | null;
}

interface OutboxStep {
  readonly part: OutboxPart;
  readonly refused: readonly RejectedRow[];
  /** Sent in place of the part, or again. */
  readonly parts: readonly OutboxPart[];
  readonly bytesMax: number | null;
}

/** Counted within this run. */
export interface Failing {
  readonly failures: number;
  /** Milliseconds since the first of them. */
  readonly sinceMs: number;
}

/**
 * The checkpoint of a lane whose destination cannot keep one. Requests are committed here before they are sent, and responses
 * before the next request is sent. Parts may be advanced concurrently. Every method throws `fenced` when a later attempt holds
 * the lane.
 */
export interface Outbox {
  /** Forgets the state of any other target. */
  open(place: OutboxPlace): Promise<OpenedOutbox>;
  /** `sequence` is that of the last request. Throws `fenced` for a batch that was completed before. */
  prepare(batch: Batch, outgoing: Pick<PendingBatch, 'parts' | 'rejected'>, sequence: number): Promise<void>;
  advance(step: OutboxStep): Promise<void>;
  doubt(part: OutboxPart): Promise<void>;
  /** A part that gets its response ends the count. */
  failed(): Promise<Failing>;
  /** From here on the receipt is the checkpoint. */
  complete(receipt: string): Promise<void>;
  /** The batch cannot get a receipt: its pages are read again. */
  discard(): Promise<void>;
}

const refuse = (): Promise<never> => Promise.reject(new Error('Nothing is delivered here'));

/** For callers that deliver nothing. */
export const noOutbox: Outbox = {
  open: refuse,
  prepare: refuse,
  advance: refuse,
  doubt: refuse,
  failed: refuse,
  complete: refuse,
  discard: refuse,
};
