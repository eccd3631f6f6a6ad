import type { Proof } from '../model/coverage.ts';
import type { Scan } from '../model/scan.ts';

/** A place in which a record is known to be. */
interface Place {
  readonly partition: string;
  /** Whether the run that compares has seen it there. */
  readonly isSeen: boolean;
}

/** A known record, as a run compares it. */
export interface ComparedRecord {
  readonly externalId: string;
  /** Where it was before; of a resource without partitions the one place with an empty key. */
  readonly places: readonly Place[];
  /** Its last version says that it is deleted. */
  readonly isFlagged: boolean;
  /** False: an earlier run has flagged it, and this one has gaps in which it may live. Absent: that is not so. */
  readonly isSure?: boolean;
}

/** Records that are not deleted, and what the run has proved of the partitions. */
export interface Compared<Known extends ComparedRecord> {
  readonly records: readonly Known[];
  /** By partition; those that the run did not read to their end are absent. */
  readonly proofs: ReadonlyMap<string, Proof>;
}

/** The records that a run is to delete, as the control database finds them: those that say so, and missing ones. */
export function goneAmong<Known extends ComparedRecord>(
  compared: Compared<Known>,
  scan: Scan,
): { readonly flagged: readonly Known[]; readonly missing: readonly Known[] } {
  const flagged = compared.records.filter((record) => record.isFlagged && record.isSure !== false);
  const missing = scan.endsOnly ? [] : missingAmong(compared, scan).filter((record) => !record.isFlagged);
  return { flagged, missing };
}

/** The records that a run proves to be missing, as the control database finds them. */
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

/** Whether a record that the run has not seen was where it has found a gap, as the control database finds it. */
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
