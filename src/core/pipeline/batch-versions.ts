/**
 * The versions of records in one batch: which of them reach the destination, and which is the last. The last version is
 * the state of a record, whether delivered, kept back or deleted.
 */

import { outcomeId, type RecordOutcome } from '../model/page-outcome.ts';
import type { FlaggedRecord, Receipt, RecordEntry, RecordVersion } from '../model/receipt.ts';
import { type IdKey, idKey } from './id-key.ts';

/** Outcomes that reach the destination, in an order on which stored drafts and receipts rely. */
export interface Versions {
  /**
   * The last outcome of each record, at the place of its first; some may be quarantined. In mode append, all except
   * tombstones followed by a version.
   */
  readonly effective: readonly RecordOutcome[];
  readonly superseded: ReadonlySet<RecordOutcome> | null;
  /** A record may have several outcomes, or one that was kept back. */
  readonly mayRepeat: boolean;
  /** Whether a later outcome of the record makes another try unnecessary; in mode append only a deletion does. */
  readonly isOvertaken: (outcome: RecordOutcome) => boolean;
}

/** Compares the outcomes of a batch; `everyVersion` if the table is appended to. */
export function compareVersions(outcomes: readonly RecordOutcome[], everyVersion: boolean): Versions {
  const last = new Map<IdKey, RecordOutcome>();
  const superseded = new Set<RecordOutcome>();
  for (const outcome of outcomes) {
    if (outcome.kind === 'quarantine' || outcome.kind === 'wait' || outcome.kind === 'leave') continue;
    const key = keyOf(outcome);
    const before = last.get(key);
    if (before && !(everyVersion && before.kind === 'deliver')) superseded.add(before);
    last.set(key, outcome);
  }
  const mayRepeat = last.size < outcomes.length;
  const isOvertaken = createIsOvertaken(outcomes, everyVersion);
  if (superseded.size === 0) return { effective: outcomes, superseded: null, mayRepeat, isOvertaken };
  const effective = everyVersion ? outcomes.filter((outcome) => !superseded.has(outcome)) : [...last.values()];
  return { effective, superseded, mayRepeat, isOvertaken };
}

/** Computed on demand, as few batches need it. */
function createIsOvertaken(outcomes: readonly RecordOutcome[], everyVersion: boolean): Versions['isOvertaken'] {
  let places: ReadonlyMap<RecordOutcome, number> | null = null;
  const ends = new Map<IdKey, number>();
  return (outcome) => {
    if (places === null) {
      places = new Map(outcomes.map((each, place) => [each, place]));
      for (const [each, place] of places) if (endsRecord(each, everyVersion)) ends.set(keyOf(each), place);
    }
    return (ends.get(keyOf(outcome)) ?? -1) > (places.get(outcome) ?? 0);
  };
}

const keyOf = (outcome: RecordOutcome): IdKey => idKey(outcomeId(outcome));

const endsRecord = ({ kind }: RecordOutcome, everyVersion: boolean): boolean =>
  everyVersion ? kind === 'delete' || kind === 'flag' : kind !== 'leave';

/** The outcome of a version of a record, in the order of the batch. */
export interface RecordEnd {
  readonly externalId: string;
  readonly status: RecordEntry['status'] | 'deleted' | 'flagged';
  /** The new state; `null` if it has none, or another version stays. */
  readonly entry: RecordEntry | null;
  readonly isRetried: boolean;
  /** The version whose quarantine rows close on delivery, or `null`. */
  readonly version: string | null;
  readonly flagged?: FlaggedRecord;
}

/** The part of a receipt about the records of its batch. */
export type EndsInReceipt = Pick<
  Receipt,
  'records' | 'deleted' | 'flagged' | 'notFetched' | 'deliveredBefore' | 'closes' | 'closesVersions'
>;

/**
 * The last state of each record, and the quarantine rows that close with it. A retried record closes only its own row,
 * unless the batch has also fetched it.
 */
export function lastEnds(
  ends: readonly RecordEnd[],
  { everyVersion, deriveCloses }: { readonly everyVersion: boolean; readonly deriveCloses: boolean },
): EndsInReceipt {
  const entries = new Map<string, RecordEntry>();
  const last = new Map<string, RecordEnd>();
  const delivered = new Map<string, RecordEntry | null>();
  const closesVersions: RecordVersion[] = [];
  for (const end of ends) {
    const { externalId, status, entry, version } = end;
    last.set(externalId, end);
    if (entry) entries.set(externalId, entry);
    if (status === 'delivered') delivered.set(externalId, entry);
    if (status === 'deleted' || status === 'flagged') entries.delete(externalId);
    // A flagged record stays at the destination until it is deleted.
    const kept = status === 'flagged' ? (delivered.get(externalId) ?? entry) : null;
    if (kept) entries.set(externalId, kept);
    if (version !== null) closesVersions.push({ externalId, version });
  }
  const flagged = [...last.values()].flatMap((end) => end.flagged ?? []);
  const retries = ends.some(({ isRetried }) => isRetried);
  const fetched = new Set(retries ? ends.flatMap(({ externalId, isRetried }) => (isRetried ? [] : [externalId])) : []);
  const notFetched = retries ? [...entries.keys()].filter((externalId) => !fetched.has(externalId)) : [];
  const closing = [...last.values()].filter(({ status, isRetried }) => status !== 'quarantined' && !isRetried);
  return {
    records: [...entries.values()],
    deleted: [...last.values()].flatMap(({ externalId, status }) => (status === 'deleted' ? [externalId] : [])),
    ...(flagged.length > 0 && { flagged }),
    ...(notFetched.length > 0 && { notFetched }),
    deliveredBefore: [...entries.values()].flatMap(({ externalId, status }) =>
      status === 'quarantined' && delivered.has(externalId) ? [externalId] : [],
    ),
    closes: everyVersion ? [] : deriveCloses ? null : closing.map(({ externalId }) => externalId),
    closesVersions,
  };
}
