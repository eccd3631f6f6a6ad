/** Records that pass through the stages of the pipeline. */
export interface RecordPage {
  /** The records after `map` and `addFields`. */
  readonly records: readonly unknown[];
  /** Values of the partition they belong to; empty without `forEach`. */
  readonly each: Readonly<Record<string, unknown>>;
  /** `retried`: quarantined by an earlier run and requeued; `fetched`: as the API gave them in this one. */
  readonly origin: 'fetched' | 'retried';
}
