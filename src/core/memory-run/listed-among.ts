import type { NamedDeletion } from '../model/receipt.ts';
import type { ListedScan } from '../model/scan.ts';

/** A deletion that a list has named, as it is stored. */
export interface StoredDeletion extends NamedDeletion {
  readonly partition: string;
  /** The run whose list named it last. */
  readonly listedRun: number;
}

/** A known record, and what lists have named of it. */
export interface NamedRecord {
  readonly isLive: boolean;
  /** Where reads have seen it last; of a resource without partitions the one place with an empty key. */
  readonly places: readonly { readonly partition: string; readonly seenRun: number | null }[];
  readonly deletions: readonly StoredDeletion[];
}

/** How far lists are read. */
export interface ListRuns {
  /** The run that makes the deletions. */
  readonly seq: number;
  /** The last run that read the list of a partition whole; null: none did. */
  readonly listRunOf: (partition: string) => number | null;
}

/** The last run that saw a record where a list is of; null: none did. */
export function lastSeen({ places }: Pick<NamedRecord, 'places'>, partition: string): number | null {
  const there = places.filter((place) => partition === '' || place.partition === partition || place.partition === '');
  const runs = there.flatMap(({ seenRun }) => seenRun ?? []);
  return runs.length === 0 ? null : Math.max(...runs);
}

/** Whether a record is in another partition than this one, too. */
export const isElsewhere = (
  { places }: { readonly places: readonly { readonly partition: string }[] },
  partition: string,
): boolean => partition !== '' && places.some((place) => place.partition !== '' && place.partition !== partition);

/** Whether a deletion counts, as the control database decides. */
export const isDue = (record: NamedRecord, { state, partition, listedRun }: StoredDeletion): boolean =>
  state === 'due' && (lastSeen(record, partition) ?? 0) <= listedRun;

/** The partitions that have a record, as far as the control database knows. */
export function livingPlaces(record: NamedRecord, scan: ListedScan & ListRuns): readonly string[] {
  return record.places
    .map(({ partition }) => partition)
    .filter((partition) => partition !== '')
    .filter((partition) => !dueOf(record).some((deletion) => deletion.partition === partition))
    .filter((partition) => !scan.coversAll || scan.listRunOf(partition) === scan.seq);
}

/** Whether a record is to be deleted, as the control database decides. */
export function isGone(record: NamedRecord, scan: ListedScan & ListRuns): boolean {
  const due = dueOf(record);
  if (!record.isLive || due.length === 0) return false;
  return due.some(({ partition }) => partition === '') || livingPlaces(record, scan).length === 0;
}

const dueOf = (record: NamedRecord): readonly StoredDeletion[] =>
  record.deletions.filter((deletion) => isDue(record, deletion));
