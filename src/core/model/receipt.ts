import { AppError } from '../errors.ts';
import type { Proof } from './coverage.ts';
import { noNotes, type RunNotes } from './run-notes.ts';
import type { RunPosition } from './run-position.ts';
import type { ListedScan, Scan } from './scan.ts';
import type { Validators } from './validators.ts';

/** One complete page as the ledger keeps it. */
export interface PageEntry {
  /** Position in the run, from 1. */
  readonly pageNo: number;
  /** The hash of the page's token or URL: the repeat guard of a resumed window. */
  readonly requestKey: string;
  readonly recordsIn: number;
  readonly recordsOut: number;
  readonly skipped: number;
  readonly quarantined: number;
  /** Failed in the pipeline, whether quarantined or skipped. */
  readonly invalid: number;
  /** The number of tombstones, also of records that were not on the page. */
  readonly deleted: number;
}

/** The state of a record once its version is recorded. */
export interface RecordEntry {
  readonly externalId: string;
  /** Fingerprint, base64url. */
  readonly hash: string;
  /** The cursor value of this version as canonical text; null when it has none. */
  readonly cursor: string | null;
  readonly status: 'delivered' | 'quarantined';
  /** The values that child resources refer to; null: nothing is kept. */
  readonly fields: Readonly<Record<string, unknown>> | null;
}

/** Records of a partition. */
export interface PlacedRecords {
  readonly partition: string;
  readonly externalIds: readonly string[];
}

/** A record that says that it is deleted. */
export interface FlaggedRecord extends Pick<RecordEntry, 'externalId' | 'cursor'> {}

/** The reading progress of a partition. */
export interface PartitionEntry {
  /** Key of the partition; empty without `forEach`. */
  readonly partition: string;
  /** The watermark that holds from now on, as canonical text; null: none, also when a claim is taken back. */
  readonly watermark: string | null;
  /** The end of the partition's read; null: not yet, or its watermark must stay. */
  readonly completed: {
    /** Changes of parent records after this instant were not considered; ISO. Null: it has no parents. */
    readonly listedAt: string | null;
    /** The validators for the next conditional request; null: none. */
    readonly validators: Validators | null;
    /** As of when it is read to its end; ISO. Absent: as it was before. */
    readonly readAt?: string;
    /** The watermark up to which the list of deleted records is known; absent: as it was before. */
    readonly deletionsTo?: string;
  } | null;
  /** What of its values shapes its records, as `storedShapeOf` says; absent: as it was before. */
  readonly shape?: string;
  /** Where its first read began, as canonical text; absent: as it was before. */
  readonly firstStart?: string;
}

/** What the run has proved of a partition. */
export interface PartitionProof {
  /** Key of the partition; empty without `forEach`. */
  readonly partition: string;
  readonly proof: Proof;
  /**
   * The end of its read, which counts once its deletions are made; `watermark`: where it is read on from then. Null: the partition
   * is read again.
   */
  readonly completed: (NonNullable<PartitionEntry['completed']> & { readonly watermark?: string | null }) | null;
}

/**
 * The state of a deletion that a list has named. `before`: it was named before the first read of its partition, which
 * shows whether the record lives. `pending`: the record was read as live before it was named, so that the next run decides.
 * `due`: the record is to be deleted. `done`: it was deleted, or is a later one.
 */
export type DeletionState = 'before' | 'pending' | 'due' | 'done';

/** A deletion that a list has named. */
export interface NamedDeletion {
  readonly externalId: string;
  readonly state: DeletionState;
  /** When it was, as canonical text; null: the list does not say. */
  readonly deletedAt: string | null;
}

/** What a page of a list of deleted records says. */
export interface ListedDeletions {
  /** The partition whose records the list names; empty: the list is of the whole resource. */
  readonly partition: string;
  readonly named: readonly NamedDeletion[];
  /** The list is read whole up to its end (`all`), or to where it is known (`known`). Null: it is not. */
  readonly end: 'all' | 'known' | null;
}

/** The end of the deletions of a run that lists have named. */
export interface ListedEnd extends ListedScan {
  /** The brake holds them back: lists are read whole again. */
  readonly isHeld: boolean;
}

/** A record that is kept instead of delivered. */
export interface QuarantineEntry {
  readonly id: string;
  readonly externalId: string;
  /** JSON text of the record as it was hashed. */
  readonly rawJson: string;
  /** Values of the partition it was read in, for another try. */
  readonly each: Readonly<Record<string, unknown>>;
  readonly errors: readonly { readonly path: string; readonly message: string; readonly keyword: string }[];
  /** The next run tries it again by itself. */
  readonly isAwaited?: true;
  /**
   * Where every version of a record counts (mode append), a digest of this one, of which one row is open at most. Empty
   * elsewhere: there is one open row per record.
   */
  readonly version: string;
  /** The row was retried, and is to be open again. */
  readonly isAgain: boolean;
}

/** What the rows of an earlier version of the service are. */
export const unversioned = { version: '', isAgain: false } as const;

/** A version of a record, as its quarantine row has it. */
export interface RecordVersion {
  readonly externalId: string;
  readonly version: string;
}

/**
 * Everything that the control database must record for one batch. It is committed at the destination together with the
 * rows, then recorded in the control database. A crash between the two commits is repaired by recording the receipt
 * found at the destination: nothing is fetched again and nothing is delivered again.
 */
export interface Receipt {
  readonly runId: string;
  /** Position in the run, from 1. */
  readonly batchNo: number;
  readonly pages: readonly PageEntry[];
  readonly records: readonly RecordEntry[];
  /** All of them are new, so they are only inserted. */
  readonly allNew: boolean;
  /** External ids of records whose last state is that they are deleted; not those whose deletion was refused. */
  readonly deleted: readonly string[];
  /** Records that the run is to delete at its end, since they say so last; absent: there are none. */
  readonly flagged?: readonly FlaggedRecord[];
  /** External ids of records of which a version was delivered before the one that was kept back. */
  readonly deliveredBefore: readonly string[];
  /**
   * External ids of records whose quarantine rows end with what was read of them; null: those of the records that were
   * delivered, deleted or flagged.
   */
  readonly closes: readonly string[] | null;
  /** Versions whose quarantine rows end because they are delivered, where every version counts. */
  readonly closesVersions: readonly RecordVersion[];
  /** Records that were there, changed or not, where deletes are found by comparing. */
  readonly seen: readonly PlacedRecords[];
  /** Records that the filter no longer keeps where they were read last; absent: there are none. */
  readonly left?: readonly PlacedRecords[];
  readonly quarantine: readonly QuarantineEntry[];
  /** Records that were delivered although a step failed for them: the next run tries them again. Absent: there are none. */
  readonly again?: readonly QuarantineEntry[];
  /** Quarantine rows that were retried. */
  readonly retried: readonly string[];
  readonly partitions: readonly PartitionEntry[];
  /** What is proved of partitions; a later gap of the same run outweighs it. */
  readonly proofs: readonly PartitionProof[];
  /** The comparison that is at its end with this batch; null: none is. */
  readonly scan: Scan | null;
  /** What lists of deleted records have named; absent: nothing. */
  readonly listed?: readonly ListedDeletions[];
  /** The deletions that are at their end with this batch; absent: none are. */
  readonly listedEnd?: ListedEnd;
  /** Whether something was skipped on purpose, so the run ends `partial`. */
  readonly incomplete: boolean;
  readonly notes: RunNotes;
  /** Where the run continues after these pages, as JSON; null: nothing is left. */
  readonly position: RunPosition | null;
  /**
   * Why the run fails with `record_invalid` once this is recorded: a record was refused and the resource does not allow
   * that. Nothing is kept of that record, and no watermark passes it. Null: the run continues.
   */
  readonly failure: string | null;
}

/** External ids of the records whose quarantine rows end, whatever version they hold. */
export const closedIds = ({ closes, records, deleted, flagged = [] }: Receipt): readonly string[] =>
  closes ?? [
    ...records.filter(isDelivered).map(columnOf.externalId),
    ...deleted,
    ...flagged.map(({ externalId }) => externalId),
  ];

const isDelivered = ({ status }: RecordEntry): boolean => status === 'delivered';

/** Whether it completes the read, and changes nothing of a record. */
export const isQuietEnd = (receipt: Receipt): boolean =>
  receipt.position === null && receipt.failure === null && receipt.records.length === 0 && isPlain(receipt);

/** Whether it has none of the parts that few batches have. */
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

/**
 * Bytes of a receipt: what a destination stores for us is read back up to here. A record takes about 100, so this is more
 * than any response of an API holds.
 */
export const receiptBytesMax = 64 * 1024 * 1024;

/** The version of the encoded form. A worker refuses every other one. */
export const receiptVersion = 1;

/**
 * The form that travels to the destination's checkpoint row: records by column, which is half as long. Throws
 * `source_rejected` for a page of which nothing could be read back.
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

/** What an earlier version of the service did not write. */
type LaterFields = 'notes' | 'proofs' | 'scan' | 'deliveredBefore' | 'closes' | 'closesVersions';

interface EncodedReceipt extends Omit<Receipt, 'records' | LaterFields>, Partial<Pick<Receipt, LaterFields>> {
  readonly v: number;
  readonly externalIds: readonly string[];
  readonly hashes: readonly string[];
  /** The cursor values of the records; null: no record has one. */
  readonly cursors: readonly RecordEntry['cursor'][] | null;
  /** Positions of records of this status; the others were delivered. */
  readonly quarantined: readonly number[];
  /** The fields of the records; null: no record has any. */
  readonly fields: readonly RecordEntry['fields'][] | null;
}

/**
 * The parts of an entry, for a list of them. Functions of the module: what V8 has compiled for one that is made for each
 * batch is lost at the next collection.
 */
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

/** The inverse of {@link encodeReceipt}. Throws when the text is not a receipt of this version. */
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
