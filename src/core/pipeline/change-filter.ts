import { compareCursors, cursorOfText } from '../source/cursor-value.ts';
import type { Resource } from '../spec/schema.ts';
import type { Candidate } from './candidate.ts';
import type { KnownRecord, KnownRecords } from './known-records.ts';
import { mapWithPauses } from './pauses.ts';

/**
 * Drops records whose fingerprint is known and those older than the known version; what it lets through counts as on
 * its way from then on. Pages must come in their order.
 */
export function createChangeFilter(
  { changeDetection, incremental }: Resource,
  known: KnownRecords,
): (candidates: readonly Candidate[]) => Promise<readonly Candidate[]> {
  if (changeDetection.mode === 'none') return async (candidates) => candidates;

  const isStale = (cursor: string | null, before: KnownRecord): boolean => {
    if (!changeDetection.versionGuard || incremental?.kind !== 'cursor') return false;
    const now = cursorOfText(cursor, incremental.cursor);
    const then = cursorOfText(before.cursor, incremental.cursor);
    return now !== null && then !== null && compareCursors(now, then) < 0;
  };

  return async (candidates) => {
    const versions = new Map(await known.find(candidates.map((candidate) => candidate.externalId)));
    const isWanted = ({ externalId, hash, cursor }: Candidate): boolean => {
      const before = versions.get(externalId);
      if (hash === null || before?.hash === hash) return false;
      if (before && isStale(cursor, before)) return false;
      versions.set(externalId, { hash, cursor });
      known.expect(externalId, { hash, cursor });
      return true;
    };
    return (await mapWithPauses(candidates, (candidate) => (isWanted(candidate) ? [candidate] : []))).flat();
  };
}
