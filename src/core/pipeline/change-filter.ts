import { compareCursors, cursorOfText, latestMeaning } from '../source/cursor-value.ts';
import type { Resource } from '../spec/schema.ts';
import type { Candidate } from './candidate.ts';
import type { KnownRecord, KnownRecords } from './known-records.ts';
import { mapWithPauses } from './pauses.ts';
import type { RecordPage } from './process-page.ts';

/** What the change filter knows, and whether it lets unchanged records through as well. */
interface ChangeFilterOptions {
  readonly known: KnownRecords;
  readonly redeliver: boolean;
}

/**
 * Drops records whose fingerprint is known, those older than the known version, and deletions of what is not there; what
 * it lets through counts as on its way from then on. Pages must come in their order. A record that is retried passes
 * unless a version of it was delivered, or deleted, since it was set aside.
 */
export function createChangeFilter(
  { changeDetection, incremental }: Resource,
  { known, redeliver }: ChangeFilterOptions,
): (candidates: readonly Candidate[], origin: RecordPage['origin']) => Promise<readonly Candidate[]> {
  if (changeDetection.mode === 'none') return async (candidates) => candidates;

  const isStale = (cursor: string | null, before: KnownRecord): boolean => {
    if (!changeDetection.versionGuard || incremental?.kind !== 'cursor') return false;
    const now = cursorOfText(cursor, incremental.cursor);
    const then = cursorOfText(before.cursor, incremental.cursor);
    return now !== null && then !== null && compareCursors(latestMeaning(now, incremental.cursor), then) < 0;
  };

  return async (candidates, origin) => {
    const versions = new Map(await known.find(candidates.map((candidate) => candidate.externalId)));
    const isWanted = ({ externalId, hash, cursor, gone }: Candidate): boolean => {
      const before = versions.get(externalId);
      if (hash === null || (before && !isNews({ hash, cursor, gone }, before))) return false;
      if (gone && !before) return false;
      const version = { hash, cursor, status: gone ? 'deleted' : 'delivered' } as const;
      versions.set(externalId, version);
      known.expect(externalId, version);
      return true;
    };
    const isNews = (now: Pick<Candidate, 'hash' | 'cursor' | 'gone'>, before: KnownRecord): boolean => {
      if (origin === 'retried') return before.status === 'quarantined';
      // Nearly all of what is read again, and so before anything that costs more.
      if (before.hash === now.hash && before.status !== 'deleted' && !now.gone && !redeliver) return false;
      if (isStale(now.cursor, before)) return false;
      return !(now.gone && before.status === 'deleted');
    };
    return (await mapWithPauses(candidates, (candidate) => (isWanted(candidate) ? [candidate] : []))).flat();
  };
}
