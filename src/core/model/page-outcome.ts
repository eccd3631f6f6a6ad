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
      readonly entry: RecordEntry | null;
      /** For quarantine, if the destination refuses the record. */
      readonly raw: unknown;
      /** See `QuarantineEntry.sealed`; present if `raw` is masked. */
      readonly sealed?: string;
      /** Row for the next run, since a step failed and the record may not be fetched again. */
      readonly again?: QuarantineEntry;
      readonly retry?: Retry;
      /** The version whose quarantine rows close, in mode append. */
      readonly version?: string;
    }
  | { readonly kind: 'quarantine'; readonly row: QuarantineEntry; readonly entry: RecordEntry | null }
  /** A step failed again for a record that was delivered without it; nothing is sent. */
  | { readonly kind: 'wait'; readonly row: QuarantineEntry }
  /** The filter no longer keeps the record in this partition; other partitions may still have it. */
  | { readonly kind: 'leave'; readonly externalId: string }
  /** The run deletes it at its end; with `isUndelivered`, the destination has nothing of it. */
  | {
      readonly kind: 'flag';
      readonly record: FlaggedRecord;
      readonly isUndelivered: boolean;
      /** State of a record that was unknown: an older version may follow in a later batch. */
      readonly entry?: RecordEntry;
    }
  /** `flagged` if a record of the page says so; otherwise it was missing, or listed as deleted. */
  | {
      readonly kind: 'delete';
      readonly tombstone: Tombstone;
      readonly flagged: boolean;
      /** For quarantine, if the destination refuses the deletion; absent if only the id is known. */
      readonly record?: {
        readonly raw: unknown;
        readonly sealed?: string;
        readonly entry: RecordEntry | null;
        readonly retry?: Retry;
      };
    };

/** The external id of the record of an outcome. */
export function outcomeId(outcome: RecordOutcome): string {
  if (outcome.kind === 'delete') return outcome.tombstone.externalId;
  if (outcome.kind === 'leave') return outcome.externalId;
  return outcome.kind === 'flag' ? outcome.record.externalId : outcome.row.externalId;
}

/** One page after the pipeline: each record is skipped, carried or in `outcomes`, in the order of the page. */
export interface PageOutcome {
  readonly recordsIn: number;
  readonly skipped: number;
  /** Unchanged records that this run had acknowledged in a batch of an earlier run, where they were counted. */
  readonly carried: number;
  /** Fetched records that failed in the pipeline, whether quarantined or skipped. */
  readonly invalid: number;
  readonly outcomes: readonly RecordOutcome[];
  /** No record of the page is stored or in progress. */
  readonly allNew: boolean;
  readonly each: Readonly<Record<string, unknown>>;
  /** External ids of the records that the filter keeps, empty unless deletes are found by comparing. */
  readonly seen: readonly string[];
  /** Gaps of the page, where something is concluded from absence. */
  readonly gaps: Gaps;
  readonly notes: RunNotes;
}
