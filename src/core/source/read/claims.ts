/** The watermark that a read may claim: it passes only what the pages so far have covered. */
import type { CursorPlan, ReadPlan, ReadPosition } from '../../model/read-position.ts';
import { isTimeCursor } from '../../spec/schema/incremental-schema.ts';
import { type CursorValue, cursorOfText, cursorText } from '../cursor/cursor-value.ts';
import { advanceWatermark, continuesAscending, greaterCursor, greatestCursor } from '../cursor/watermark.ts';

export interface SeenCursors {
  /** In the API's order, without records that have none. */
  readonly cursors: readonly CursorValue[];
  /** A value is above the one before it, where newest first ends a read (false in other orders). */
  readonly rises: boolean;
}

/** Adds the values of a page; `ordered` turns false if they break the declared order. */
export function withCursors(position: ReadPosition, cursor: CursorPlan, { cursors, rises }: SeenCursors): ReadPosition {
  const last = cursors.at(-1);
  const greatest = greatestCursor(cursors);
  const ordered = position.ordered && !rises;
  if (last === undefined || greatest === null) return { ...position, ordered };
  const text = (value: CursorValue) => cursorText(value, cursor.form);
  const lastSeen = cursorOfText(position.lastSeen, cursor.form);
  const ascends = cursor.order !== 'asc' || continuesAscending(cursors, lastSeen, { overlap: cursor.overlap });
  return {
    ...position,
    maxSeen: text(greaterCursor(cursorOfText(position.maxSeen, cursor.form), greatest)),
    firstMax: position.firstMax ?? text(greatest),
    lastSeen: text(last),
    ordered: ordered && ascends,
  };
}

/**
 * Canonical text or `null`; `position` includes the page's values. After a page without a list the earlier claim holds,
 * as later windows may not claim over the hole.
 */
export function claimAfter(
  plan: ReadPlan,
  cursor: CursorPlan,
  { position, isEnd }: { readonly position: ReadPosition; readonly isEnd: boolean },
): string | null {
  if (!claims(plan, position)) return position.claim;
  // A broken order withdraws the claims of its window, as those pages claimed too much.
  if (position.covered === false) return position.ordered ? position.claim : position.base;
  return isEnd ? claimAtEnd(position, cursor) : claimDuring(position, cursor);
}

/** A backfill moves the watermark only where it takes the place of a first read. */
export const claims = (plan: ReadPlan, { again }: ReadPosition): boolean => !plan.backfill || again === true;

/**
 * Only a verified ascending order guarantees that no lower record follows in the window. A read without a lower bound
 * also shows records without a cursor value, last in some APIs, which no later request matches.
 */
function claimDuring(position: ReadPosition, cursor: CursorPlan): string | null {
  if (cursor.order !== 'asc' || cursor.claimsAtEnd || position.trail?.isLoose) return position.claim;
  if (!position.ordered) return position.base;
  if (cursor.missing === 'include' && position.from === null && !cursor.clientFilter) return position.claim;
  const maxSeen = cursorOfText(position.maxSeen, cursor.form);
  return claimOf(position, cursor, { maxSeen, windowEnd: null });
}

function claimAtEnd(position: ReadPosition, cursor: CursorPlan): string | null {
  const maxSeen = cursorOfText(position.maxSeen, cursor.form);
  const to = cursor.window === null ? null : cursorOfText(position.to, cursor.form);
  // Without cursor values in the records, the settle time is subtracted from every window, not only from the last.
  const windowEnd = typeof to === 'bigint' && cursor.field === null ? to - BigInt(cursor.settleMs) : to;
  return claimOf(position, cursor, { maxSeen, windowEnd });
}

function claimOf(
  position: ReadPosition,
  cursor: CursorPlan,
  seen: { readonly maxSeen: CursorValue | null; readonly windowEnd: CursorValue | null },
): string | null {
  const { form, settleMs } = cursor;
  const cap = isTimeCursor(form.type) ? BigInt(asOfMs(position) - settleMs) : firstMaxOf(position, cursor);
  const bound = cursor.window === null ? cap : lesser(cap, cursorOfText(position.to, form));
  const claim = advanceWatermark(cursorOfText(position.claim, form), { ...seen, cap: bound });
  return claim === null ? null : cursorText(claim, form);
}

/**
 * Bound of a read without times and without a verified order: a change during the read gets a greater value than all
 * that existed before, and may be of a record on a page already read. `null` if nothing binds, or a lookback covers it.
 */
function firstMaxOf(
  { ordered, firstMax, page }: ReadPosition,
  { order, form, lookbackUnits }: CursorPlan,
): CursorValue | null {
  if ((order === 'asc' && ordered) || page.index === 1 || lookbackUnits > 0) return null;
  return cursorOfText(firstMax, form);
}

/**
 * As-of time of a complete read where the API forgets, or `null` with a hole or without a claim. A tenth of the
 * retention is often enough, so a run that finds nothing new writes nothing.
 */
export function readAtEnd(plan: ReadPlan, { retention, settleMs }: CursorPlan, position: ReadPosition): string | null {
  if (retention === null || position.covered === false || !claims(plan, position)) return null;
  const readAtMs = asOfMs(position) - settleMs;
  const isRecent = plan.readAt !== null && readAtMs - Date.parse(plan.readAt) < retention.maxAgeMs / 10;
  return isRecent ? null : new Date(readAtMs).toISOString();
}

/** The earlier of the API's clock and ours at the start of the read. */
const asOfMs = ({ runStart, apiStart = runStart }: ReadPosition): number =>
  Math.min(Date.parse(runStart), Date.parse(apiStart));

const lesser = (left: CursorValue | null, right: CursorValue | null) =>
  left === null || (right !== null && right < left) ? right : left;
