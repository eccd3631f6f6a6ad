import type { Deliverable, Tombstone } from './batch.ts';
import type { Gaps } from './coverage.ts';
import type { FlaggedRecord, QuarantineEntry, RecordEntry } from './receipt.ts';
import type { Retry } from './record-page.ts';
import type { RunNotes } from './run-notes.ts';

/** The outcome of the pipeline for one record, unless it was skipped. */
export type RecordOutcome =
  | {
      readonly kind: 'deliver';
      readonly row: Deliverable;
      /** Null where changes are not detected. */
      readonly entry: RecordEntry | null;
      /** The record as fetched, in case the destination refuses it. */
      readonly raw: unknown;
      /** The record for the next run, since a step failed for it and it may not be fetched again; absent: none failed. */
      readonly again?: QuarantineEntry;
      /** The quarantine row that it comes from; absent: it was fetched. */
      readonly retry?: Retry;
      /** The version whose quarantine rows end with it, where every version counts; absent: it has none. */
      readonly version?: string;
    }
  | { readonly kind: 'quarantine'; readonly row: QuarantineEntry; readonly entry: RecordEntry | null }
  /** A step failed again for a record that was delivered without it; nothing is sent. */
  | { readonly kind: 'wait'; readonly row: QuarantineEntry }
  /** The filter no longer keeps it where it was read; other partitions may have it all the same. */
  | { readonly kind: 'leave'; readonly externalId: string }
  /** A record says that it is deleted. The run deletes it at its end; `isUndelivered`: nothing of it is at the destination. */
  | { readonly kind: 'flag'; readonly record: FlaggedRecord; readonly isUndelivered: boolean }
  /** `flagged`: a record of the page says so; otherwise it was missing, or listed as deleted. */
  | {
      readonly kind: 'delete';
      readonly tombstone: Tombstone;
      readonly flagged: boolean;
      /** The record that says so, in case the destination refuses its deletion; absent: only its id is known. */
      readonly record?: { readonly raw: unknown; readonly entry: RecordEntry | null; readonly retry?: Retry };
    };

/** The external id of the record of an outcome. */
export function outcomeId(outcome: RecordOutcome): string {
  if (outcome.kind === 'delete') return outcome.tombstone.externalId;
  if (outcome.kind === 'leave') return outcome.externalId;
  return outcome.kind === 'flag' ? outcome.record.externalId : outcome.row.externalId;
}

/** One page after the pipeline: what it read is skipped, carried or in `outcomes`, in the order of the page. */
export interface PageOutcome {
  readonly recordsIn: number;
  readonly skipped: number;
  /** Unchanged since this run had them acknowledged, in a batch that an earlier run left: they were counted then. */
  readonly carried: number;
  /** Fetched records that failed in the pipeline, whether quarantined or skipped. */
  readonly invalid: number;
  readonly outcomes: readonly RecordOutcome[];
  /** All their records are new: none is stored or in progress. */
  readonly allNew: boolean;
  /** Values of the partition of its records. */
  readonly each: Readonly<Record<string, unknown>>;
  /** External ids of the records that the filter keeps, where deletes are found by comparing; empty otherwise. */
  readonly seen: readonly string[];
  /** What the page hides of its partition, where something is concluded from absence; empty: nothing. */
  readonly gaps: Gaps;
  /** What a reader of the run should know of its records. */
  readonly notes: RunNotes;
}
