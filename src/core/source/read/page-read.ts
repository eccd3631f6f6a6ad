import type { Gap, Gaps } from '../../model/coverage.ts';
import type { ReadPosition } from '../../model/read-position.ts';
import type { ReadNote } from '../../model/run-notes.ts';
import type { Validators } from '../../model/validators.ts';

/** One page, ready for the pipeline. */
export interface PageRead {
  /** Number of the page in the read, from 1, over all processes that took part. */
  readonly pageNo: number;
  /** The records after `map` and `addFields`, in the API's order. */
  readonly records: readonly unknown[];
  /** The position once this page is delivered; null: the read is complete. */
  readonly positionAfter: ReadPosition | null;
  /**
   * Canonical text of the watermark that holds once this page and all before are delivered; null: none does. Store it
   * as it is, even when it is lower than that of the page before: a broken order withdraws a claim.
   */
  readonly watermarkAfter: string | null;
  /** The hash of the request: method, address, body. */
  readonly requestKey: string;
  /** The validators for the next conditional request, from the first page; null: none. */
  readonly validators: Validators | null;
  /** The API returned 304: nothing was read, so absence proves nothing. */
  readonly notModified: boolean;
  /** Why the read does not show everything, as far as this page tells; empty: it does. */
  readonly gaps: Gaps;
  /** As of when the partition is read to its end, where that is to be stored; ISO. Null: it is not. */
  readonly readAt: string | null;
  /** The read began at its start again, as the API no longer knows what came after the watermark. */
  readonly again: boolean;
  /** Then its start is the beginning of time: it shows every record. */
  readonly isFromBeginning: boolean;
  /** Why the spec's rules skipped this partition (its watermark stays, the run is partial); null: they did not. */
  readonly skipped: string | null;
  readonly notes: readonly (ReadNote | Gap)[];
}
