import { AppError } from '../errors.ts';
import type { Proof } from './coverage.ts';
import { noNotes, type RunNotes } from './run-notes.ts';
import type { RunPosition } from './run-position.ts';
import type { ListedScan, Scan } from './scan.ts';
import type { Validators } from './validators.ts';

/** One complete page as the ledger keeps it. */
export interface PageEntry {
  /** From 1. */
  readonly pageNo: number;
  /** Hash of the request (method, URL, body), or the stage of a page without one. */
  readonly requestKey: string;
  readonly recordsIn: number;
  readonly recordsOut: number;
  readonly skipped: number;
  readonly quarantined: number;
  readonly invalid: number;
  /** Tombstones, including those of records that were not on the page. */
  readonly deleted: number;
}

/** The state of a record once its version is recorded. */
export interface RecordEntry {
  readonly externalId: string;
  readonly hash: string;
  /** Cursor value of this version as canonical text, or `null`. */
  readonly cursor: string | null;
  readonly status: 'delivered' | 'quarantined';
  /** Values that child resources refer to, or `null` if none are kept. */
  readonly fields: Readonly<Record<string, unknown>> | null;
}

/** Records of one partition. */
export interface PlacedRecords {
  readonly partition: string;
  readonly externalIds: readonly string[];
}

/** A record that says that it is deleted. */
export interface FlaggedRecord extends Pick<RecordEntry, 'externalId' | 'cursor'> {}

/** The reading progress of a partition. */
export interface PartitionEntry {
  /** Empty without `forEach`. */
  readonly partition: string;
  /** The watermark from now on, as canonical text; `null` also when a claim is withdrawn. */
  readonly watermark: string | null;
  /** Completion of the partition's read; `null` until then, or while its watermark must stay. */
  readonly completed: {
    /** ISO instant after which changes of parents were not considered; `null` without parents. */
    readonly listedAt: string | null;
    readonly validators: Validators | null;
    /** ISO instant as of which the read is complete; unchanged if absent. */
    readonly readAt?: string;
    /** Watermark up to which the list of deleted records is known; unchanged if absent. */
    readonly deletionsTo?: string;
  } | null;
  /** Digest of its shaping values, see `storedShapeOf`; unchanged if absent. */
  readonly shape?: string;
  /** Start of its first read as canonical text; unchanged if absent. */
  readonly firstStart?: string;
}

/** The proof of a run for a partition. */
export interface PartitionProof {
  readonly partition: string;
  readonly proof: Proof;
  /**
   * Completion that counts once its deletions are made, with the watermark from then on; `null` if the partition is
   * read again.
   */
  readonly completed: (NonNullable<PartitionEntry['completed']> & { readonly watermark?: string | null }) | null;
}

/**
 * State of a listed deletion. `before`: named before the first read of its partition, which shows whether the record
 * lives. `pending`: read as live before it was named, so the next run decides. `due`: to be deleted; `done`: deleted,
 * or the record is a later one.
 */
export type DeletionState = 'before' | 'pending' | 'due' | 'done';

/** A deletion that a list has named. */
export interface NamedDeletion {
  readonly externalId: string;
  readonly state: DeletionState;
  /** Time of the deletion as canonical text, or `null` if the list does not give it. */
  readonly deletedAt: string | null;
}

/** The contents of a page of a list of deleted records. */
export interface ListedDeletions {
  /** Empty if the list covers the whole resource. */
  readonly partition: string;
  readonly named: readonly NamedDeletion[];
  /** The list was read whole up to its end (`all`), or to its known part (`known`); otherwise `null`. */
  readonly end: 'all' | 'known' | null;
}

/** Completion of a run's listed deletions. */
export interface ListedEnd extends ListedScan {
  /** The brake holds them back: lists are read whole again. */
  readonly isHeld: boolean;
}

/** A record that is kept instead of delivered. */
export interface QuarantineEntry {
  readonly id: string;
  readonly externalId: string;
  /** JSON text of the record, with secrets masked; the text `null` if the row has it already. */
  readonly rawJson: string;
  /** Values of its partition, with secrets masked. */
  readonly each: Readonly<Record<string, unknown>>;
  /** Both without masks, sealed, for another try; absent if nothing was masked. */
  readonly sealed?: string;
  readonly errors: readonly { readonly path: string; readonly message: string; readonly keyword: string }[];
  readonly isAwaited?: true;
  /** In mode append a digest of the version, with one open row at most. Otherwise empty, with one open row per record. */
  readonly version: string;
  /** The row was retried, and opens again. */
  readonly isAgain: boolean;
}

/** Defaults for rows of an earlier version of the service. */
export const unversioned = { version: '', isAgain: false } as const;

/** A version of a record, as its quarantine row has it. */
export interface RecordVersion {
  readonly externalId: string;
  readonly version: string;
}

/**
 * Everything that the control database must record for one batch, committed at the destination with its rows. After a
 * crash between the two commits, the receipt is recorded from there: nothing is fetched or delivered again.
 */
export interface Receipt {
  readonly runId: string;
  readonly batchNo: number;
  readonly pages: readonly PageEntry[];
  readonly records: readonly RecordEntry[];
  /** Its records are new, so they are only inserted. */
  readonly allNew: boolean;
  /** External ids of records deleted last, without those whose deletion was refused. */
  readonly deleted: readonly string[];
  /** Records that say last that they are deleted; the run deletes them at its end. */
  readonly flagged?: readonly FlaggedRecord[];
  /** External ids of records with a version delivered before the one that was kept back. */
  readonly deliveredBefore: readonly string[];
  /** External ids of records whose quarantine rows close; `null` for those delivered, deleted or flagged. */
  readonly closes: readonly string[] | null;
  /** Versions whose quarantine rows close on delivery, in mode append. */
  readonly closesVersions: readonly RecordVersion[];
  /** Records present, changed or not, where deletes are found by comparing. */
  readonly seen: readonly PlacedRecords[];
  /** Records that the filter no longer keeps where they were last read. */
  readonly left?: readonly PlacedRecords[];
  readonly quarantine: readonly QuarantineEntry[];
  /** Records delivered although a step failed: the next run tries them again, in their row if that was retried. */
  readonly again?: readonly QuarantineEntry[];
  readonly retried: readonly string[];
  /** External ids of records tried again and not fetched: if their last version has left a partition, that stays. */
  readonly notFetched?: readonly string[];
  readonly partitions: readonly PartitionEntry[];
  /** A later gap of the same run outweighs a proof. */
  readonly proofs: readonly PartitionProof[];
  /** The comparison that this batch completes, or `null`. */
  readonly scan: Scan | null;
  readonly listed?: readonly ListedDeletions[];
  readonly listedEnd?: ListedEnd;
  readonly incomplete: boolean;
  readonly notes: RunNotes;
  /** Where the run continues after these pages, or `null` at its end. */
  readonly position: RunPosition | null;
  /**
   * Why the run fails with `record_invalid` once this is recorded, or `null`: the resource does not allow a refused
   * record. Nothing of that record is kept, and no watermark passes it.
   */
  readonly failure: string | null;
}

/** External ids of records whose quarantine rows close, regardless of version. */
export const closedIds = ({ closes, records, deleted, flagged = [] }: Receipt): readonly string[] =>
  closes ?? [
    ...records.filter(isDelivered).map(columnOf.externalId),
    ...deleted,
    ...flagged.map(({ externalId }) => externalId),
  ];

const isDelivered = ({ status }: RecordEntry): boolean => status === 'delivered';

/** Whether it completes the read without changing any record. */
export const isQuietEnd = (receipt: Receipt): boolean =>
  receipt.position === null && receipt.failure === null && receipt.records.length === 0 && isPlain(receipt);

/** Whether it has only the parts that most batches have. */
export const isPlain = ({
  seen,
  left = [],
  deleted,
  flagged = [],
  quarantine,
  again = [],
  retried,
  proofs,
  scan,
  listed = [],
  listedEnd,
  closesVersions,
}: Receipt): boolean =>
  scan === null &&
  listedEnd === undefined &&
  [seen, left, deleted, flagged, quarantine, again, retried, proofs, listed, closesVersions].every(
    ({ length }) => length === 0,
  );

/** Largest receipt that is read back from a destination: at about 100 bytes per record, it exceeds any API response. */
export const receiptBytesMax = 64 * 1024 * 1024;

/** Version of the encoded form; a worker refuses every other one. */
export const receiptVersion = 1;

/**
 * The encoded form in the checkpoint row: records by column, which is half as long. Throws `source_rejected` for a page
 * too large to read back.
 */
export function encodeReceipt({ records, ...receipt }: Receipt): string {
  const text = JSON.stringify({
    v: receiptVersion,
    ...receipt,
    externalIds: records.map(columnOf.externalId),
    hashes: records.map(columnOf.hash),
    cursors: unlessAllNull(records.map(columnOf.cursor)),
    quarantined: records.flatMap(placeOfQuarantined),
    fields: unlessAllNull(records.map(columnOf.fields)),
  } satisfies EncodedReceipt);
  // A character takes three bytes at most.
  if (text.length * 3 <= receiptBytesMax || Buffer.byteLength(text) <= receiptBytesMax) return text;
  const message = `A page of ${records.length} records is too large to store its receipt: ask the API for smaller pages.`;
  throw new AppError('source_rejected', message);
}

/** Fields that an earlier version of the service did not write. */
type LaterFields = 'notes' | 'proofs' | 'scan' | 'deliveredBefore' | 'closes' | 'closesVersions';

interface EncodedReceipt extends Omit<Receipt, 'records' | LaterFields>, Partial<Pick<Receipt, LaterFields>> {
  readonly v: number;
  readonly externalIds: readonly string[];
  readonly hashes: readonly string[];
  readonly cursors: readonly RecordEntry['cursor'][] | null;
  /** Positions of the records with this status; the others were delivered. */
  readonly quarantined: readonly number[];
  readonly fields: readonly RecordEntry['fields'][] | null;
}

/** Accessors for lists of entries, made once: V8 drops compiled code of functions made per batch at the next collection. */
export const columnOf = {
  externalId: (entry: RecordEntry) => entry.externalId,
  hash: (entry: RecordEntry) => entry.hash,
  cursor: (entry: RecordEntry) => entry.cursor,
  status: (entry: RecordEntry) => entry.status,
  fields: (entry: RecordEntry) => entry.fields,
} as const;

const placeOfQuarantined = ({ status }: RecordEntry, index: number): readonly number[] =>
  status === 'quarantined' ? [index] : [];

const unlessAllNull = <Value>(values: readonly Value[]): readonly Value[] | null =>
  values.every(isNull) ? null : values;

const isNull = (value: unknown): boolean => value === null;

/** The inverse of {@link encodeReceipt}; throws if the text is not a receipt of this version. */
export function decodeReceipt(text: string): Receipt {
  const { v, externalIds, hashes, cursors, quarantined, fields, ...rest } = JSON.parse(text) as EncodedReceipt;
  if (v !== receiptVersion) throw new Error(`Checkpoint receipt of an unknown version ${v}`);
  const keptBack = new Set(quarantined);
  const records = externalIds.map(
    (externalId, index): RecordEntry => ({
      externalId,
      hash: hashes[index] ?? '',
      cursor: cursors?.[index] ?? null,
      status: keptBack.has(index) ? 'quarantined' : 'delivered',
      fields: fields?.[index] ?? null,
    }),
  );
  const { notes = noNotes, proofs = [], scan = null, deliveredBefore = [], closes = null, closesVersions = [] } = rest;
  const quarantine = rest.quarantine.map((entry) => ({ ...unversioned, ...entry }));
  const again = rest.again?.map((entry) => ({ ...unversioned, ...entry }));
  const later = { notes, proofs, scan, deliveredBefore, closes, closesVersions };
  return { ...rest, ...later, ...(again && { again }), quarantine, records };
}
