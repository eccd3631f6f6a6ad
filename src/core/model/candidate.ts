import type { RecordIssue } from '../json-schema/validate.ts';
import type { Retry } from './record-page.ts';

/** A record between two stages of the pipeline; once it has issues, the later stages skip it. */
export interface Candidate {
  readonly raw: unknown;
  readonly externalId: string;
  readonly hash: string | null;
  /** Expressions take `raw` as it is; otherwise they check it first. */
  readonly isPlain: boolean;
  readonly cursor: string | null;
  readonly issues: readonly RecordIssue[] | null;
  /** The record after the transform, `null` before it. */
  readonly data: Readonly<Record<string, unknown>> | null;
  /** Results of enrichments for this record, seen in `$lookups` beside the tables. */
  readonly lookups: Readonly<Record<string, unknown>> | null;
  /** An enrichment quarantines the record, regardless of `onInvalid`. */
  readonly quarantine: boolean;
  /** A step failed for this record, but the spec delivers it nevertheless. */
  readonly isDegraded: boolean;
  /** The record states that it was deleted, or left the filter of a resource that finds deletes. */
  readonly isDeleted: boolean;
  readonly isFiltered: boolean;
  readonly retry?: Retry;
  /** Status of its last known version, if that one was kept back; `unknown`: a deletion that is kept for older versions. */
  readonly before?: 'quarantined' | 'undelivered' | 'unknown';
}

/** The external id of a candidate, as a callback for lists. */
export const idOf = ({ externalId }: Candidate): string => externalId;

/**
 * Looks up the enrichments of each record and sets `Candidate.lookups`, or issues if the spec quarantines the record.
 * Candidates with issues pass unchanged; the order stays.
 */
export type Enrich = (
  candidates: readonly Candidate[],
  page: { readonly each: Readonly<Record<string, unknown>> },
) => Promise<readonly Candidate[]>;
