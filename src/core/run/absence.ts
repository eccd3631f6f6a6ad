/**
 * Decides everything that is concluded from absence: which records count as deleted, and whether a read may replace a
 * table. A record is missing only if this run read every place that ever showed it whole, and none has it. The brake
 * limits how many may be missing at once.
 */

import { hidingGaps, isListed } from '../model/coverage.ts';
import type { PartitionTotals } from '../model/run-position.ts';
import type { Scan, ScanResult } from '../model/scan.ts';
import { brakeDefaults } from '../spec/schema/deletes-schema.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import type { RunStore } from './run-store.ts';

interface Brake {
  /** Maximum share of the known records; 1 disables the brake. */
  readonly maxRatio: number;
  /** With fewer deletions, the share does not apply. */
  readonly minRecords: number;
}

/** The brake for switching a table. */
export const brakeOf = ({ maxRatio, minRecords }: Partial<Brake>): Brake => ({
  maxRatio: maxRatio ?? brakeDefaults.maxRatio,
  minRecords: minRecords ?? brakeDefaults.minRecords,
});

/** Rules for comparing the records read with the known ones, or `null` if absence proves nothing. */
export function scanOf({ forEach, deletes }: Resource, { listGaps }: PartitionTotals): Scan | null {
  if (deletes.mode !== 'full_scan' || listGaps === undefined) return null;
  const isPartitioned = forEach.length > 0;
  const listsAll = !isPartitioned || deletes.scope === 'resource';
  const coversAll = !isPartitioned || (listsAll && listGaps.length === 0);
  return { isPartitioned, coversAll, listsAll, confirm: deletes.confirm, hasGaps: false };
}

/** Whether the run missed part of its source, so that a record may still live there. */
export const hasGaps = ({ skipped, gaps, listGaps = [] }: PartitionTotals): boolean =>
  skipped > 0 || !isListed(hidingGaps(gaps)) || listGaps.length > 0;

interface WouldDelete extends Pick<ScanResult, 'missing' | 'flagged'> {
  readonly countKnown: () => Promise<number>;
}

/**
 * Whether so many deletions prove nothing, since a failing API looks the same. A read of no record that would delete
 * all of them is held back at any size.
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

/** Whether the deletions exceed the brake. */
export const exceeds = (deletions: number, known: number, { maxRatio, minRecords }: Brake): boolean =>
  deletions > 0 && maxRatio < 1 && deletions >= minRecords && deletions > known * maxRatio;
