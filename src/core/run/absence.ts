/**
 * Decides everything that is concluded from absence: which records count as deleted at the API because a read lacks
 * them, and whether what a run gathered may replace a table. A record is missing only if every place that ever showed
 * it was read whole in this run and lacks it. The brake limits how many may be missing at once.
 */

import { hidingGaps, isListed } from '../model/coverage.ts';
import type { PartitionTotals } from '../model/run-position.ts';
import type { Scan, ScanResult } from '../model/scan.ts';
import { brakeDefaults } from '../spec/schema/deletes-schema.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import type { RunStore } from './run-store.ts';

/** How many records may be missing at once. */
interface Brake {
  /** The share of the known records, at most; 1: no brake. */
  readonly maxRatio: number;
  /** Below it there is no share. */
  readonly minRecords: number;
}

/** The brake on the switch of a table. */
export const brakeOf = ({ maxRatio, minRecords }: Partial<Brake>): Brake => ({
  maxRatio: maxRatio ?? brakeDefaults.maxRatio,
  minRecords: minRecords ?? brakeDefaults.minRecords,
});

/** How a run compares what it read with the records that are known; null: nothing may be concluded from it. */
export function scanOf({ forEach, deletes }: Resource, { listGaps }: PartitionTotals): Scan | null {
  if (deletes.mode !== 'full_scan' || listGaps === undefined) return null;
  const isPartitioned = forEach.length > 0;
  const listsAll = !isPartitioned || deletes.scope === 'resource';
  const coversAll = !isPartitioned || (listsAll && listGaps.length === 0);
  return { isPartitioned, coversAll, listsAll, confirm: deletes.confirm, hasGaps: false };
}

/** Whether a run has not read all that it was to read, so that a record may live again where it has not looked. */
export const hasGaps = ({ skipped, gaps, listGaps = [] }: PartitionTotals): boolean =>
  skipped > 0 || !isListed(hidingGaps(gaps)) || listGaps.length > 0;

/** What a run would delete. */
interface WouldDelete extends Pick<ScanResult, 'missing' | 'flagged'> {
  readonly countKnown: () => Promise<number>;
}

/**
 * Whether a run that would delete so many of the known records proves nothing: a failing API looks just like this. So it is
 * when it has read none at all and lacks the rest.
 */
export async function isHeldBack(
  store: Pick<RunStore, 'readSoFar'>,
  { missing, flagged, countKnown }: WouldDelete,
  { maxRatio, minRecords }: Brake,
): Promise<boolean> {
  const deletions = Math.max(missing, 0) + flagged;
  if (deletions === 0 || maxRatio >= 1) return false;
  const readNone = missing > 0 && (await store.readSoFar()).recordsIn === 0;
  if (deletions < minRecords && !readNone) return false;
  const known = await countKnown();
  return exceeds(deletions, known, { maxRatio, minRecords }) || (readNone && deletions >= known);
}

/** Whether so many deletions are too many at once for so many known records. */
export const exceeds = (deletions: number, known: number, { maxRatio, minRecords }: Brake): boolean =>
  deletions > 0 && maxRatio < 1 && deletions >= minRecords && deletions > known * maxRatio;
