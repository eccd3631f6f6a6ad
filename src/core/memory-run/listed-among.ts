import type { NamedDeletion } from '../model/receipt.ts';
import type { ListedScan } from '../model/scan.ts';

/** A stored deletion that a list has named. */
export interface StoredDeletion extends NamedDeletion {
  readonly partition: string;
  readonly listedRun: number;
}

/** A known record with its listed deletions. */
export interface NamedRecord {
  readonly isLive: boolean;
  /** Places where it was last seen; without partitions, one place with an empty key. */
  readonly places: readonly { readonly partition: string; readonly seenRun: number | null }[];
  readonly deletions: readonly StoredDeletion[];
}

/** Progress in reading lists. */
export interface ListRuns {
  /** The run that makes the deletions. */
  readonly seq: number;
  /** Last run that read the list of the partition whole, or `null`. */
  readonly listRunOf: (partition: string) => number | null;
}

/** Last run that saw a record within the scope of a list, or `null`. */
export function lastSeen({ places }: Pick<NamedRecord, 'places'>, partition: string): number | null {
  const there = places.filter((place) => partition === '' || place.partition === partition || place.partition === '');
  const runs = there.flatMap(({ seenRun }) => seenRun ?? []);
  return runs.length === 0 ? null : Math.max(...runs);
}

/** Whether a record is also in another partition. */
export const isElsewhere = (
  { places }: { readonly places: readonly { readonly partition: string }[] },
  partition: string,
): boolean => partition !== '' && places.some((place) => place.partition !== '' && place.partition !== partition);

/** Whether a deletion counts, by the rule of the control database. */
export const isDue = (record: NamedRecord, { state, partition, listedRun }: StoredDeletion): boolean =>
  state === 'due' && (lastSeen(record, partition) ?? 0) <= listedRun;

/** The partitions that still have a record, by the rule of the control database. */
export function livingPlaces(record: NamedRecord, scan: ListedScan & ListRuns): readonly string[] {
  return record.places
    .map(({ partition }) => partition)
    .filter((partition) => partition !== '')
    .filter((partition) => !dueOf(record).some((deletion) => deletion.partition === partition))
    .filter((partition) => !scan.coversAll || scan.listRunOf(partition) === scan.seq);
}

/** Whether a record is to be deleted, by the rule of the control database. */
export function isGone(record: NamedRecord, scan: ListedScan & ListRuns): boolean {
  const due = dueOf(record);
  if (!record.isLive || due.length === 0) return false;
  return due.some(({ partition }) => partition === '') || livingPlaces(record, scan).length === 0;
}

const dueOf = (record: NamedRecord): readonly StoredDeletion[] =>
  record.deletions.filter((deletion) => isDue(record, deletion));
