import type { Batch, RejectedRow } from '../../model/batch.ts';
import type { Checkpoint } from '../destination.ts';

/** One request of a batch, stored before it is sent and unchanged however often it is sent. */
export interface OutboxPart {
  /** The place of the part in its batch: `0`, `1`, and `1.0` and `1.1` for the halves of `1`. */
  readonly path: string;
  /** Records that the receiver requested again, sent after all others. */
  readonly again: boolean;
  /** The receiver has refused some of it, in a form that could not be read: a later response has to say what. */
  readonly isDoubted: boolean;
  /** The receiver may have some of its records: an earlier part that had them was doubted. */
  readonly mayBeTaken: boolean;
  /** The id by which the receiver knows the part: a repeated request has the same one. */
  readonly id: string;
  readonly body: string;
  /** The positions of its records in the batch: its rows, then its tombstones. */
  readonly indexes: readonly number[];
}

/** A batch that was stored to be sent, without a final response. */
export interface PendingBatch extends Pick<Batch, 'runId' | 'batchNo' | 'receipt'> {
  /** The parts still to be sent; in this order, as far as they have records in common. */
  readonly parts: readonly OutboxPart[];
  /** The rows that were rejected so far. */
  readonly rejected: readonly RejectedRow[];
  /** An earlier run read it. */
  readonly isCarried: boolean;
  /** It is of an earlier generation of the lane: it is sent, and the target is new to the lane all the same. */
  readonly isOfBefore: boolean;
}

/** What an outbox is for. */
export interface OutboxPlace {
  /** A text that identifies the target. */
  readonly target: string;
  /** What identified it to a version before this one: an outbox of then still counts. */
  readonly targetBefore: string;
  /** See LaneClaim. */
  readonly generation: string;
}

/** The result of {@link Outbox.open}. */
interface OpenedOutbox {
  /** The last batch that was completed; null: none of this generation at this target. */
  readonly checkpoint: Checkpoint | null;
  readonly pending: PendingBatch | null;
  /** Receipt of the batch of an earlier run that this one has sent and completed; null: none. */
  readonly carried: string | null;
  /** The number of the last request that the run has stored, at whatever target; 0: none. */
  readonly sequence: number;
  /** Bytes of a request that the run found the receiver to take; null: it found no bound. */
  readonly bytesMax: number | null;
}

/** The result of a part that got its response. */
interface OutboxStep {
  readonly part: OutboxPart;
  /** The records of the part that are refused for good. */
  readonly refused: readonly RejectedRow[];
  /** The parts sent in its place, or again. */
  readonly parts: readonly OutboxPart[];
  /** See {@link OpenedOutbox.bytesMax}. */
  readonly bytesMax: number | null;
}

/** How long the receiver has been failing within this run. */
export interface Failing {
  /** Failures in a row. */
  readonly failures: number;
  /** Milliseconds since the first of them. */
  readonly sinceMs: number;
}

/**
 * The checkpoint of a lane whose destination cannot keep one: requests are committed here before they are sent, and
 * responses before the next request is sent. Parts may be advanced at the same time. Every method throws `fenced` when
 * a later attempt holds the lane.
 */
export interface Outbox {
  /** What is known of a generation of the lane at a target; for another target all is forgotten. */
  open(place: OutboxPlace): Promise<OpenedOutbox>;
  /** Stores what a batch sends; `sequence` is that of its last request. Throws `fenced` for a batch that was completed before. */
  prepare(batch: Batch, outgoing: Pick<PendingBatch, 'parts' | 'rejected'>, sequence: number): Promise<void>;
  /** Adds the result of a part to those of the others. */
  advance(step: OutboxStep): Promise<void>;
  /** Notes that a part is doubted from now on. */
  doubt(part: OutboxPart): Promise<void>;
  /** Notes that the receiver failed; a part that gets its response ends the count. */
  failed(): Promise<Failing>;
  /** The pending batch has its responses: from here on its receipt is the checkpoint. */
  complete(receipt: string): Promise<void>;
  /** The pending batch can have no receipt: its pages are read again. */
  discard(): Promise<void>;
}

const refuse = (): Promise<never> => Promise.reject(new Error('Nothing is delivered here'));

/** The outbox of those who only ask a destination. */
export const noOutbox: Outbox = {
  open: refuse,
  prepare: refuse,
  advance: refuse,
  doubt: refuse,
  failed: refuse,
  complete: refuse,
  discard: refuse,
};
