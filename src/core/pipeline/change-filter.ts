import { type Candidate, idOf } from '../model/candidate.ts';
import type { RecordPage } from '../model/record-page.ts';
import { mapWithPauses } from '../pauses.ts';
import { compareCursors, cursorOfText, latestMeaning } from '../source/cursor/cursor-value.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import type { KnownRecord, KnownRecords, Snapshot } from './known-records.ts';

/** What the change filter knows, and whether it lets unchanged records through as well. */
interface ChangeFilterOptions {
  readonly known: KnownRecords;
  readonly redeliver: boolean;
}

/**
 * Drops what is not news of a page, once all pages before it have had their turn; throws what they threw. Where changes are
 * not detected it waits for nobody.
 */
export type ChangeFilter = (
  candidates: readonly Candidate[],
  page: Pick<RecordPage, 'origin'> & { readonly before: Promise<unknown> },
) => Promise<FilteredPage>;

/** What is left of a page. */
export interface FilteredPage {
  readonly candidates: readonly Candidate[];
  /** Nothing is known of any of them. */
  readonly allNew: boolean;
  /** Dropped although this run had them acknowledged: they were counted then. */
  readonly carried: number;
}

/**
 * Drops records whose fingerprint is known, those older than the known version, and deletions of what is not there; what
 * it lets through counts as on its way from then on. What is stored is asked for at once, so that the responses of several
 * pages are on their way together. A record that is retried passes unless a version of it was delivered, or deleted, since
 * it was quarantined.
 */
export function createChangeFilter(
  { changeDetection, incremental }: Resource,
  { known, redeliver }: ChangeFilterOptions,
): ChangeFilter {
  if (changeDetection.mode === 'none') return async (candidates) => ({ candidates, allNew: false, carried: 0 });

  const isStale = (cursor: string | null, before: KnownRecord): boolean => {
    if (!changeDetection.versionGuard || incremental?.kind !== 'cursor') return false;
    const now = cursorOfText(cursor, incremental.cursor);
    const then = cursorOfText(before.cursor, incremental.cursor);
    return now !== null && then !== null && compareCursors(latestMeaning(now, incremental.cursor), then) < 0;
  };

  const isNews = (
    { hash, cursor, isDeleted }: Candidate,
    { before, origin }: { readonly before: KnownRecord; readonly origin: RecordPage['origin'] },
  ): boolean => {
    if (origin === 'retried') return before.status === 'quarantined';
    // Nearly all of what is read again, and so before anything that costs more.
    if (before.hash === hash && before.status !== 'deleted' && !isDeleted && !redeliver) return false;
    if (isStale(cursor, before)) return false;
    return !(isDeleted && before.status === 'deleted');
  };

  const decide = (candidate: Candidate, decision: Decision): void => {
    const { externalId, hash, cursor, isDeleted } = candidate;
    const before = decision.snapshot.find(externalId);
    const isCarried = known.takeCarried(externalId);
    if (hash === null || (before ? !isNews(candidate, { before, origin: decision.origin }) : isDeleted)) {
      if (isCarried) decision.carried += 1;
      return;
    }
    if (before) decision.allNew = false;
    known.stage(externalId, { hash, cursor, status: isDeleted ? 'deleted' : 'delivered' });
    decision.wanted.push(candidate);
  };

  return async (candidates, { origin, before: pagesBefore }) => {
    using snapshot = await after(pagesBefore, known.snapshot(candidates.map(idOf)));
    const decision: Decision = { snapshot, origin, wanted: [], allNew: true, carried: 0 };
    await mapWithPauses(candidates, decide, decision);
    return { candidates: decision.wanted, allNew: decision.allNew, carried: decision.carried };
  };
}

/** About a page, as it is made. */
interface Decision {
  readonly snapshot: Snapshot;
  readonly origin: RecordPage['origin'];
  readonly wanted: Candidate[];
  allNew: boolean;
  carried: number;
}

/** The snapshot, once the pages before have had their turn; it is closed when one of them fails. */
async function after(pagesBefore: Promise<unknown>, loading: Promise<Snapshot>): Promise<Snapshot> {
  const [snapshot, earlier] = await Promise.allSettled([loading, pagesBefore]);
  if (snapshot.status === 'rejected') throw snapshot.reason;
  if (earlier.status === 'fulfilled') return snapshot.value;
  snapshot.value[Symbol.dispose]();
  throw earlier.reason;
}
