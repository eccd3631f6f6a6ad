import type { RecordIssue } from '../json-schema/validate.ts';
import type { Retry } from './record-page.ts';

/** A record between two stages of the pipeline; once it has issues, the later stages skip it. */
export interface Candidate {
  /** The record as fetched. */
  readonly raw: unknown;
  readonly externalId: string;
  /** Null where changes are not detected. */
  readonly hash: string | null;
  /** Expressions take `raw` as it is; false: they check it first. */
  readonly isPlain: boolean;
  /** The cursor value as canonical text; null: it has none. */
  readonly cursor: string | null;
  /** The issues found so far; null: none. */
  readonly issues: readonly RecordIssue[] | null;
  /** The record after the transform; null before it. */
  readonly data: Readonly<Record<string, unknown>> | null;
  /** What enrichments found for this record, seen in `$lookups` beside the tables; null: there are none. */
  readonly lookups: Readonly<Record<string, unknown>> | null;
  /** An enrichment says to quarantine the record, whatever `onInvalid` says. */
  readonly quarantine: boolean;
  /** A step failed for this record, and the spec says to deliver it nevertheless. */
  readonly isDegraded: boolean;
  /** The record states that it was deleted, or it has left the filter of a resource that finds deletes. */
  readonly isDeleted: boolean;
  /** The filter of the resource does not keep the record. */
  readonly isFiltered: boolean;
  /** The quarantine row that it comes from; absent: it was fetched. */
  readonly retry?: Retry;
  /** The status of its last known version, where that one was kept back; absent: it was not. */
  readonly before?: 'quarantined' | 'undelivered';
}

/** The external id of a candidate, for lists of them. */
export const idOf = ({ externalId }: Candidate): string => externalId;

/**
 * Looks up the enrichments of a resource for each record: sets `Candidate.lookups`, or issues where the spec
 * quarantines the record. Candidates with issues pass unchanged; the order stays.
 */
export type Enrich = (
  candidates: readonly Candidate[],
  page: { readonly each: Readonly<Record<string, unknown>> },
) => Promise<readonly Candidate[]>;
