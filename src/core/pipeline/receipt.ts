import type { ReadPosition } from '../source/read-position.ts';

/** One complete page as the ledger keeps it. */
export interface PageEntry {
  /** Position in the run, from 1. */
  readonly pageNo: number;
  /** Hash of the page's token or URL: the repeat guard of a resumed window. */
  readonly requestKey: string;
  readonly recordsIn: number;
  readonly recordsOut: number;
  readonly skipped: number;
  readonly quarantined: number;
}

/** What is known of a record once its version is settled. */
export interface RecordEntry {
  readonly externalId: string;
  /** Fingerprint, base64url. */
  readonly hash: string;
  /** Canonical cursor value of this version; null when it has none. */
  readonly cursor: string | null;
  readonly status: 'delivered' | 'quarantined';
}

/** A record that is kept instead of delivered. */
export interface QuarantineEntry {
  readonly id: string;
  readonly externalId: string;
  /** JSON text of the record as it was hashed. */
  readonly rawJson: string;
  readonly errors: readonly { readonly path: string; readonly message: string; readonly keyword: string }[];
}

/**
 * All that the control database has to record for one batch. It is committed at the destination together with
 * the rows, then recorded in the control database. A crash between the two commits is repaired by recording the
 * receipt found at the destination: nothing is fetched again and nothing is delivered again.
 */
export interface Receipt {
  readonly runId: string;
  /** Position in the run, from 1. */
  readonly batchNo: number;
  readonly pages: readonly PageEntry[];
  readonly records: readonly RecordEntry[];
  readonly quarantine: readonly QuarantineEntry[];
  /** Where reading goes on after these pages, as JSON; null: nothing was left to read. */
  readonly position: ReadPosition | null;
  /** The watermark that holds from now on; null: none, also when an earlier claim of this read is taken back. */
  readonly watermark: string | null;
}

/** The form that travels to the destination's checkpoint row. */
export const encodeReceipt = (receipt: Receipt): string => JSON.stringify({ v: 1, ...receipt });

/** The inverse of {@link encodeReceipt}. Throws when the text is not a receipt of this version. */
export function decodeReceipt(text: string): Receipt {
  const { v, ...receipt } = JSON.parse(text) as Receipt & { readonly v: number };
  if (v !== 1) throw new Error(`Checkpoint receipt of an unknown version ${v}`);
  return receipt;
}
