/** A record to deliver to the destination. */
export interface Deliverable {
  /** Text form of the primary key, unique per connection and resource. */
  readonly externalId: string;
  /** Fingerprint of this version (base64url), or `null` where changes are not detected. */
  readonly hash: string | null;
  /** Columns by name: plain JSON values; integers beyond 2^53 are decimal strings. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** A record refused by the rules of the destination (type conflict, constraint), or one that touched no row. */
export interface RejectedRow {
  /**
   * Position in the batch from 0, first its rows, then its tombstones. A record whose deletion is refused keeps its
   * known state.
   */
  readonly index: number;
  readonly externalId: string;
  /** Safe to show: names the column and the reason, never the value. */
  readonly message: string;
  /** Rejected by a receiver that accepted other records: `onInvalid` applies instead of `target.onTypeConflict`. */
  readonly isNamed?: true;
  /** The destination may take it later, for example when its table has the row; the next run tries it again. */
  readonly isAwaited?: true;
  /** The destination may have it nevertheless. */
  readonly isDoubtful?: true;
}

/** A record deleted at the API: its rows are marked (`soft`) or removed (`hard`). */
export interface Tombstone {
  readonly externalId: string;
  readonly effect: 'soft' | 'hard';
  /** No version was delivered: the tombstone is not sent and does not count as a deletion. */
  readonly isUndelivered?: true;
}

/**
 * Rows that are applied once, or not at all. External ids are unique over rows and tombstones; in mode append a record
 * may have several rows, followed by a tombstone.
 */
export interface Batch {
  readonly runId: string;
  /** Number in the run, from 1; the checkpoint row keeps the highest one applied. */
  readonly batchNo: number;
  readonly rows: readonly Deliverable[];
  /** The lane has delivered no version of these records; a lane that was reset may still have rows of them. */
  readonly allNew: boolean;
  readonly tombstones: readonly Tombstone[];
  /**
   * Mode replace only: the last batch of a complete read. The rows of this run's batches replace those of earlier runs,
   * in the same transaction.
   */
  readonly completesGeneration: boolean;
  /** The text committed with the rows, without U+0000: all that the control database still has to record for them. */
  receipt(rejected: readonly RejectedRow[]): string;
  /** Text without U+0000, from which another process can restore the receipt, see `restoreBatch`. */
  draft(): Promise<string>;
}
