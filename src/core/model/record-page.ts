/** A quarantine row whose record is tried again. */
export interface Retry {
  readonly id: string;
  /** See `QuarantineEntry.version`. */
  readonly version: string;
  /** No newer version of the record is in quarantine. */
  readonly isLast: boolean;
  /** External id of the row, if nobody can open its record any more. */
  readonly lostId?: string;
}

/** Records that pass through the pipeline. */
export interface RecordPage {
  /** After `map` and `addFields`. */
  readonly records: readonly unknown[];
  /** Values of their partition, empty without `forEach`. */
  readonly each: Readonly<Record<string, unknown>>;
  /** `retried`: quarantined by an earlier run and requeued. */
  readonly origin: 'fetched' | 'retried';
  /** Its records count as seen in a read of everything, regardless of partition. */
  readonly isCompared?: true;
  /** Rows of the retried records, in the order of the records. */
  readonly retries?: readonly Retry[];
}
