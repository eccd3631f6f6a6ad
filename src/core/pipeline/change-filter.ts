import { type Candidate, idOf } from '../model/candidate.ts';
import type { RecordPage } from '../model/record-page.ts';
import { cursorOfText, isOlder } from '../source/cursor/cursor-value.ts';
import { deletesAtEnd, leavesPartitions } from '../spec/connection/deletes-at-end.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { mapWithPauses } from '../work/map-with-pauses.ts';
import type { KnownRecord, KnownRecords, Snapshot } from './known-records.ts';

interface ChangeFilterOptions {
  readonly known: KnownRecords;
  readonly redeliver: boolean;
}

/**
 * Drops the unchanged records of a page, once all pages before it have been filtered; throws their errors. Does not
 * wait where changes are not detected.
 */
export type ChangeFilter = (
  candidates: readonly Candidate[],
  page: Pick<RecordPage, 'origin'> & { readonly before: Promise<unknown> },
) => Promise<FilteredPage>;

interface FilteredPage {
  readonly candidates: readonly Candidate[];
  readonly allNew: boolean;
  /** Dropped although the destination acknowledged them in this run, since they were counted before. */
  readonly carried: number;
  readonly stale: number;
  /** Delivered records dropped by the filter of a resource without deletes. */
  readonly left: number;
}

/**
 * Drops records with a known fingerprint, records older than the known version, and deletions of unknown records.
 * Records that pass count as on their way from then on. Stored versions are requested at once, so that several pages
 * load concurrently. A retried record passes unless a version of it was delivered, deleted or quarantined since its
 * quarantine. In mode append it always passes.
 */
export function createChangeFilter(resource: Resource, { known, redeliver }: ChangeFilterOptions): ChangeFilter {
  const { changeDetection, incremental, target } = resource;
  const leaves = leavesPartitions(resource);
  const isNewestFirst = incremental?.kind === 'cursor' && incremental.order === 'desc';
  const everyVersion = target.mode === 'append';
  // Items that a map makes records of may be several versions of one, over more pages than an attempt reads.
  const keepsDeletions = deletesAtEnd(resource) && resource.response.map !== undefined;
  const isOutdated = ({ retry }: Candidate): boolean => retry !== undefined && !retry.isLast && !everyVersion;
  if (changeDetection.mode === 'none')
    return async (candidates) => ({
      candidates: candidates.filter((candidate) => isWanted(candidate) && !isOutdated(candidate)),
      allNew: false,
      carried: 0,
      stale: 0,
      left: 0,
    });

  const isStale = (cursor: string | null, before: KnownRecord): boolean => {
    if (!changeDetection.versionGuard || incremental?.kind !== 'cursor') return false;
    const now = cursorOfText(cursor, incremental.cursor);
    const then = cursorOfText(before.cursor, incremental.cursor);
    return now !== null && then !== null && isOlder(now, then, incremental.cursor);
  };

  const newsOf = (
    { hash, cursor, isDeleted }: Candidate,
    { before, origin }: { readonly before: KnownRecord; readonly origin: RecordPage['origin'] },
  ): News => {
    if (origin === 'retried') return everyVersion || isOpen(before) ? 'news' : 'known';
    // Decides nearly all records read again, and so comes before costlier checks.
    const isCompared = !redeliver || before.isOnWay;
    if (before.hash === hash && before.status !== 'deleted' && !isDeleted && isCompared) return 'known';
    if (isCompared && isStale(cursor, before)) return 'stale';
    return isDeleted && before.status === 'deleted' ? 'known' : 'news';
  };

  const decide = (candidate: Candidate, decision: Decision): void => {
    const { externalId, hash, cursor, isDeleted } = candidate;
    const before = decision.snapshot.find(externalId);
    // A retried record was not fetched again: a carried version of its id is another one, or a deletion.
    const isCarried = decision.origin === 'fetched' && known.takeCarried(externalId);
    if (!isWanted(candidate)) {
      if (before?.status === 'delivered') decision.left += 1;
      return;
    }
    // With the newest first, an older version may follow.
    const isFirst = !before && isDeleted && hash !== null && isNewestFirst && !(leaves && candidate.isFiltered);
    if (isFirst) known.noteOnWay(externalId, { hash, cursor, status: 'deleted', isOnWay: true });
    const isRemembered = isFirst && keepsDeletions && !candidate.isFiltered;
    const news = before
      ? newsOf(candidate, { before, origin: decision.origin })
      : isDeleted && !isRemembered
        ? 'known'
        : 'news';
    if (hash === null || news !== 'news' || isOutdated(candidate)) {
      if (isCarried) decision.carried += 1;
      if (news === 'stale') decision.stale += 1;
      return;
    }
    if (before) decision.allNew = false;
    const wanted = before ? withBefore(candidate, before) : isRemembered ? asUnknown(candidate) : candidate;
    if (wanted.retry?.isLast !== false && !(leaves && candidate.isFiltered))
      known.noteOnWay(externalId, { hash, cursor, status: isDeleted ? 'deleted' : 'delivered', isOnWay: true });
    decision.wanted.push(wanted);
  };

  return async (candidates, { origin, before: pagesBefore }) => {
    using snapshot = await after(pagesBefore, known.snapshot(candidates.map(idOf)));
    const decision: Decision = { snapshot, origin, wanted: [], allNew: true, carried: 0, stale: 0, left: 0 };
    await mapWithPauses(candidates, decide, decision);
    const { wanted, allNew, carried, stale, left } = decision;
    return { candidates: wanted, allNew, carried, stale, left };
  };
}

const asUnknown = (candidate: Candidate): Candidate => ({ ...candidate, before: 'unknown' });

/** Whether the record is delivered or deleted; a resource without deletes drops filtered ones. */
const isWanted = ({ isFiltered, isDeleted }: Candidate): boolean => !isFiltered || isDeleted;

/** Whether the last version was kept back, or a step failed for it, which leaves an empty fingerprint. */
const isOpen = ({ status, hash }: KnownRecord): boolean =>
  status === 'quarantined' || status === 'undelivered' || (status === 'delivered' && hash === '');

/** Adds the known state of a record that was kept back. A retried version is the last one only if the known one is open. */
function withBefore(candidate: Candidate, before: KnownRecord): Candidate {
  const { status } = before;
  if (status === 'quarantined' || status === 'undelivered') return { ...candidate, before: status };
  if (candidate.retry === undefined || isOpen(before)) return candidate;
  return { ...candidate, retry: { ...candidate.retry, isLast: false } };
}

/** `known`: as last delivered or deleted; `stale`: older than the known version. */
type News = 'news' | 'known' | 'stale';

interface Decision {
  readonly snapshot: Snapshot;
  readonly origin: RecordPage['origin'];
  readonly wanted: Candidate[];
  allNew: boolean;
  carried: number;
  stale: number;
  left: number;
}

/** Waits for the pages before; if one fails, the snapshot is closed. */
async function after(pagesBefore: Promise<unknown>, loading: Promise<Snapshot>): Promise<Snapshot> {
  const [snapshot, earlier] = await Promise.allSettled([loading, pagesBefore]);
  if (snapshot.status === 'rejected') throw snapshot.reason;
  if (earlier.status === 'fulfilled') return snapshot.value;
  snapshot.value[Symbol.dispose]();
  throw earlier.reason;
}
