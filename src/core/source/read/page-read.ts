import type { Gap, Gaps } from '../../model/coverage.ts';
import type { ReadPosition } from '../../model/read-position.ts';
import type { ReadNote } from '../../model/run-notes.ts';
import type { Validators } from '../../model/validators.ts';

export interface PageRead {
  /** From 1, over all processes that took part in the read. */
  readonly pageNo: number;
  /** After `map` and `addFields`, in the API's order. */
  readonly records: readonly unknown[];
  /** The position once this page is delivered, or `null` if the read is complete. */
  readonly positionAfter: ReadPosition | null;
  /**
   * Canonical text of the watermark once this page and all before are delivered, or `null`. Store it even if it is
   * lower than before: a broken order withdraws a claim.
   */
  readonly watermarkAfter: string | null;
  readonly requestKey: string;
  /** From the first page, for the next conditional request. */
  readonly validators: Validators | null;
  /** The API returned 304: nothing was read, so absence proves nothing. */
  readonly notModified: boolean;
  /** Reasons why the read may not be whole, as far as this page tells. */
  readonly gaps: Gaps;
  /** As-of time (ISO) of a complete read of the partition, or `null` if it is not to be stored. */
  readonly readAt: string | null;
  /** The read started over, as the API no longer knows the changes after the watermark. */
  readonly again: boolean;
  /** The start is then the beginning of time, so the read shows every record. */
  readonly isFromBeginning: boolean;
  /** Why the spec's rules skipped this partition, whose watermark stays while the run is partial. */
  readonly skipped: string | null;
  readonly notes: readonly (ReadNote | Gap)[];
}
