/** A record to deliver to the destination. */
export interface Deliverable {
  /** Text form of the primary key, unique per connection and resource. */
  readonly externalId: string;
  /** Fingerprint of this version, base64url; null where changes are not detected. */
  readonly hash: string | null;
  /** Columns by name: plain JSON values; integers beyond 2^53 are decimal strings. */
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * A record that the destination did not take: it refused it by its own rules (type conflict, constraint), or no row was
 * touched.
 */
export interface RejectedRow {
  /**
   * The position in the batch, from 0: its rows, then its tombstones. A record whose deletion is refused stays as it is
   * known.
   */
  readonly index: number;
  readonly externalId: string;
  /** Safe to show: says which column and why, never the value. */
  readonly message: string;
  /** A receiver that accepted the others rejected it: `onInvalid` applies. Absent: `target.onTypeConflict` applies. */
  readonly isNamed?: true;
  /** The destination may take it later, as a table that has no row of it yet: the next run tries it again by itself. */
  readonly isAwaited?: true;
  /** The destination may have it all the same. */
  readonly isDoubtful?: true;
}

/** A record deleted at the API: its rows are marked (`soft`) or removed (`hard`). */
export interface Tombstone {
  readonly externalId: string;
  readonly effect: 'soft' | 'hard';
  /** The destination has nothing of it, since no version was delivered: it is sent nowhere, and is no deletion. */
  readonly isUndelivered?: true;
}

/**
 * Rows that are applied once, or not at all. External ids are unique over rows and tombstones; in mode append a record
 * may have several rows, and a tombstone that comes after them.
 */
export interface Batch {
  readonly runId: string;
  /** Its number in the run, from 1; the checkpoint row keeps the highest one applied. */
  readonly batchNo: number;
  readonly rows: readonly Deliverable[];
  /** The lane has delivered no version of any of them. There may still be rows of theirs, of a lane that was reset. */
  readonly allNew: boolean;
  readonly tombstones: readonly Tombstone[];
  /**
   * Mode replace: the last batch of a complete read. What it and the batches of the run before it brought takes the
   * place of the rows of earlier runs, in the same transaction. False in other modes.
   */
  readonly completesGeneration: boolean;
  /** The text committed with the rows: all that the control database still has to record for them. No U+0000. */
  receipt(rejected: readonly RejectedRow[]): string;
  /** Text from which the receipt can be restored after this process has ended; see `restoreBatch`. No U+0000. */
  draft(): Promise<string>;
}
