import { expect } from 'vitest';
import type { CountedDestination } from '../destinations/audit.ts';
import type { Service } from '../service/stack.ts';
import type { Sync } from './sync.ts';

/** What a run whose workers were killed must come to. */
export interface ExactlyOnce {
  readonly records: number;
  /** Pages in flight at the kills, one number for each. */
  readonly inFlight: readonly number[];
}

/**
 * Pages that one attempt may have under way: two full batches, four that are shaped, the look-ahead of three, and `atOnce`
 * that are asked for behind it.
 */
export const inFlightMax = (perPage: number, atOnce = 1): number => 2 * Math.ceil(1000 / perPage) + 7 + atOnce;

/**
 * Waits for the end of the run and checks that nothing was lost and nothing came twice: succeeded, exact stats, each
 * row inserted once and never touched again, each page in the ledger, no page fetched again that was not in flight.
 */
export async function expectExactlyOnce(
  { db }: Pick<Service, 'db'>,
  {
    sync,
    runId,
    timeoutMs,
  }: { readonly sync: Sync<CountedDestination>; readonly runId: string; readonly timeoutMs?: number },
  { records, inFlight }: ExactlyOnce,
): Promise<void> {
  const run = await sync.ended(runId, timeoutMs);
  expect(run.status).toBe('succeeded');
  expect(run.statsJson).toEqual({ recordsIn: records, recordsOut: records, skipped: 0, deleted: 0, quarantined: 0 });
  expect(await sync.destination.writes()).toEqual({ rows: records, inserts: records, updates: 0, deletes: 0 });
  const ledger = await db.selectFrom('runPages').select(['pageNo', 'recordsOut']).where('runId', '=', runId).execute();
  const pageNumbers = ledger.map(({ pageNo }) => pageNo).sort((a, b) => a - b);
  expect(pageNumbers).toEqual(Array.from({ length: sync.pages }, (_, index) => index + 1));
  expect(ledger.reduce((sum, { recordsOut }) => sum + recordsOut, 0)).toBe(records);
  const again = inFlight.reduce((sum, count) => sum + count, 0);
  expect(sync.fetches()).toBeLessThanOrEqual(sync.pages + again);
}
