import type { Proof } from '../model/coverage.ts';
import type { Scan } from '../model/scan.ts';

interface Place {
  readonly partition: string;
  /** Seen there by the run that compares. */
  readonly isSeen: boolean;
}

/** A known record, as a run compares it. */
export interface ComparedRecord {
  readonly externalId: string;
  /** Its known places; without partitions, one place with an empty key. */
  readonly places: readonly Place[];
  /** Its last version says that it is deleted. */
  readonly isFlagged: boolean;
  /** False if an earlier run flagged it, and it may live in a gap of this one. */
  readonly isSure?: boolean;
}

/** Live records, and the proofs of the run. */
export interface Compared<Known extends ComparedRecord> {
  readonly records: readonly Known[];
  /** By partition, without those that the run did not read to their end. */
  readonly proofs: ReadonlyMap<string, Proof>;
}

/** The flagged and missing records that a run must delete, by the rule of the control database. */
export function goneAmong<Known extends ComparedRecord>(
  compared: Compared<Known>,
  scan: Scan,
): { readonly flagged: readonly Known[]; readonly missing: readonly Known[] } {
  const flagged = compared.records.filter((record) => record.isFlagged && record.isSure !== false);
  const missing = scan.endsOnly ? [] : missingAmong(compared, scan).filter((record) => !record.isFlagged);
  return { flagged, missing };
}

/** The records that a run proves missing, by the rule of the control database. */
export function missingAmong<Known extends ComparedRecord>(
  { records, proofs }: Compared<Known>,
  { isPartitioned, coversAll }: Scan,
): readonly Known[] {
  const hasOpen = [...proofs.values()].some((proof) => proof !== 'whole');
  const isClosed = (partition: string): boolean => {
    const proof = proofs.get(partition);
    return proof === undefined ? coversAll : proof === 'whole';
  };
  return records.filter(({ places }) => {
    if (places.some(({ isSeen }) => isSeen)) return false;
    if (!isPartitioned) return !hasOpen;
    const known = places.filter(({ partition }) => partition !== '');
    return known.length > 0 ? known.every(({ partition }) => isClosed(partition)) : coversAll && !hasOpen;
  });
}

/** Whether a gap may hide that a record is missing, by the rule of the control database. */
export function hidesAmong<Known extends ComparedRecord>(compared: Compared<Known>, scan: Scan): boolean {
  const { records, proofs } = compared;
  const { isPartitioned, coversAll, listsAll } = scan;
  const hasGap = [...proofs.values()].includes('gap');
  const missing = new Set(missingAmong(compared, scan));
  return records.some((record) => {
    if (record.places.some(({ isSeen }) => isSeen)) return false;
    if (!isPartitioned) return true;
    if (!coversAll && listsAll) return !missing.has(record);
    const known = record.places.filter(({ partition }) => partition !== '');
    return known.length > 0 ? known.some(({ partition }) => proofs.get(partition) === 'gap') : coversAll && hasGap;
  });
}
