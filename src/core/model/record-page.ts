/** A quarantine row whose record is tried again. */
export interface Retry {
  /** The id of the row. */
  readonly id: string;
  /** The version of the record that it holds (`QuarantineEntry.version`). */
  readonly version: string;
  /** No newer version of the record is in quarantine. */
  readonly isLast: boolean;
}

/** Records that pass through the stages of the pipeline. */
export interface RecordPage {
  /** The records after `map` and `addFields`. */
  readonly records: readonly unknown[];
  /** Values of the partition they belong to; empty without `forEach`. */
  readonly each: Readonly<Record<string, unknown>>;
  /** `retried`: quarantined by an earlier run and requeued; `fetched`: as the API gave them in this one. */
  readonly origin: 'fetched' | 'retried';
  /** Its records count as seen in a read of everything, wherever they are; absent: as the resource says. */
  readonly isCompared?: true;
  /** Of each retried record its row, in the order of the records; absent: they were fetched. */
  readonly retries?: readonly Retry[];
}
