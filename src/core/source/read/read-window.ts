import { AppError } from '../../errors.ts';
import type { CursorPlan, JobPosition, PagePosition, ReadPlan, ReadPosition } from '../../model/read-position.ts';
import { type GuardState } from '../../model/read-position.ts';
import { isTimeCursor } from '../../spec/schema/incremental-schema.ts';
import { type CursorValue, cursorOfText, cursorText } from '../cursor/cursor-value.ts';
import { advanceWatermark, continuesAscending, greaterCursor, greatestCursor } from '../cursor/watermark.ts';
import { noPages } from './page-guard.ts';
import { firstPageLike } from './smaller-page.ts';

/** The facts of a page that the plan needs. */
export interface PageFacts {
  /** Cursor values of its records, in the API's order; records without one are left out. */
  readonly cursors: readonly CursorValue[];
  /** The next position; null: the window has no further page. */
  readonly next: PagePosition | null;
  readonly guard: GuardState;
  /** The API's clock when it responded; null when it sent none. */
  readonly serverDate: Date | null;
  /** Token reads: what to start from next time; null when the response has none. */
  readonly token: string | null;
  /** The API has sent the list, or said of all of it that it has not changed. */
  readonly isListed: boolean;
}

/** The result of a page. */
export interface Step {
  /** The page after it; null: the read is complete. */
  readonly position: ReadPosition | null;
  /** The watermark as canonical text that may be stored once this page and all before are delivered; null: none yet. */
  readonly watermark: string | null;
  /** The page broke the declared ascending order (first time in this read). */
  readonly orderBroken: boolean;
}

/**
 * The position at the first page of a read. `now` is our clock. Throws `source_rejected` when the watermark is
 * older than the API's memory and the spec says that this must fail.
 */
export function firstPosition(plan: ReadPlan, now: Date): ReadPosition {
  const runStart = now.toISOString();
  const before = plan.watermarkBefore;
  const from = plan.cursor
    ? windowStart(plan, plan.cursor, now)
    : plan.kind === 'token'
      ? (before ?? plan.start)
      : null;
  const end = plan.cursor ? readEnd(plan, plan.cursor, { now, from }) : null;
  return {
    fingerprint: plan.fingerprint,
    runStart,
    clockChecked: false,
    pagesRead: 0,
    windowNo: 1,
    from,
    to: plan.cursor ? endOfWindow(plan.cursor, { from, end, sizeMs: plan.cursor.window?.sizeMs ?? 0 }) : null,
    end,
    page: plan.firstPage,
    guard: noPages,
    restarts: 0,
    maxSeen: null,
    lastSeen: null,
    ordered: true,
    base: before,
    claim: before,
  };
}

/** The stored position if it belongs to this plan; else (other watermark, other spec) the first one. */
export function resumePosition(plan: ReadPlan, stored: ReadPosition | null, now: Date): ReadPosition {
  return stored?.fingerprint === plan.fingerprint ? stored : firstPosition(plan, now);
}

/** The step after a page. Pure: the same page of the same position always leads to the same step. */
export function advance(plan: ReadPlan, position: ReadPosition, facts: PageFacts): Step {
  const runStart = position.clockChecked ? position.runStart : earlier(position.runStart, facts.serverDate);
  const read = { ...position, runStart, clockChecked: true, pagesRead: position.pagesRead + 1 };
  const reached: ReadPosition = facts.isListed ? read : { ...read, covered: false };
  if (plan.cursor) return advanceCursor(plan, plan.cursor, { reached, facts });
  if (facts.next) return { position: nextPage(reached, facts.next, facts.guard), ...quiet(reached.claim) };
  const mayClaim = plan.kind === 'token' && !plan.backfill && reached.covered !== false;
  const claim = mayClaim ? (facts.token ?? reached.claim) : reached.claim;
  return { position: null, ...quiet(claim) };
}

const withoutPart = ({ id, createdAt, values }: JobPosition): JobPosition => ({ id, createdAt, values });

/**
 * The position of the same window at its first page, after its page token has expired or the parts of its report have
 * changed. Records that were delivered before are recognized by their fingerprints. Throws `source_rejected` at the fourth
 * time: an API whose tokens never live long enough cannot be read this way.
 */
export function restartWindow(plan: ReadPlan, position: ReadPosition): ReadPosition {
  if (position.restarts >= 3) {
    throw new AppError('source_rejected', 'A window was begun again four times. Use smaller windows.');
  }
  const { job, ...rest } = position;
  return {
    ...rest,
    ...(job && { job: withoutPart(job) }),
    guard: noPages,
    maxSeen: null,
    lastSeen: null,
    page: firstPageLike(plan.firstPage, position.page),
    restarts: position.restarts + 1,
  };
}

/** A token read from the start, after the API no longer knows the stored token. */
export function restartFromStart(plan: ReadPlan, position: ReadPosition): ReadPosition {
  return { ...restartWindow(plan, position), from: plan.start };
}

/**
 * The first half of a window that has more records than the API returns for one. Throws `source_rejected` when it may
 * not or cannot be split (to 1 s at the least).
 */
export function splitWindow(position: ReadPosition, cursor: CursorPlan, total: number): ReadPosition {
  const from = instantOf(position.from, cursor);
  const to = instantOf(position.to, cursor);
  const reason = `A window has ${total} records, more than the API returns (${cursor.resultCap?.records ?? 0})`;
  if (cursor.resultCap?.onReached !== 'split')
    throw new AppError('source_rejected', `${reason}. Use a smaller window.`);
  if (from === null || to === null || to - from < 2000) {
    throw new AppError('source_rejected', `${reason}, and it cannot be split further. Narrow the request.`);
  }
  const half = from + Math.floor((to - from) / 2000) * 1000;
  return { ...position, to: new Date(half).toISOString() };
}

function advanceCursor(
  plan: ReadPlan,
  cursor: CursorPlan,
  page: { readonly reached: ReadPosition; readonly facts: PageFacts },
): Step {
  const { reached, facts } = page;
  const seen = withCursors(reached, cursor, facts.cursors);
  const orderBroken = reached.ordered && !seen.ordered;
  const claim = claimAfter(plan, cursor, { position: seen, isEnd: facts.next === null });
  if (facts.next) {
    const position = { ...nextPage(seen, facts.next, facts.guard), claim };
    return { position, watermark: claim, orderBroken };
  }
  return { position: nextWindow(plan, cursor, { ...seen, claim }), watermark: claim, orderBroken };
}

function withCursors(position: ReadPosition, cursor: CursorPlan, values: readonly CursorValue[]): ReadPosition {
  const last = values.at(-1);
  const greatest = greatestCursor(values);
  if (last === undefined || greatest === null) return position;
  const text = (value: CursorValue) => cursorText(value, cursor.form);
  const lastSeen = cursorOfText(position.lastSeen, cursor.form);
  const rises = cursor.order !== 'asc' || continuesAscending(values, lastSeen, { overlap: cursor.overlap });
  return {
    ...position,
    maxSeen: text(greaterCursor(cursorOfText(position.maxSeen, cursor.form), greatest)),
    lastSeen: text(last),
    ordered: position.ordered && rises,
  };
}

/** Behind a page that was no list, what was claimed before holds: later windows may not claim over the hole. */
function claimAfter(
  plan: ReadPlan,
  cursor: CursorPlan,
  { position, isEnd }: { readonly position: ReadPosition; readonly isEnd: boolean },
): string | null {
  if (plan.backfill) return position.claim;
  if (position.covered === false) return position.ordered ? position.claim : position.base;
  return isEnd ? claimAtEnd(position, cursor) : claimDuring(position, cursor);
}

/** While a window is read only a verified ascending order guarantees that no record below the maximum follows. */
function claimDuring(position: ReadPosition, cursor: CursorPlan): string | null {
  if (cursor.order !== 'asc') return position.claim;
  // A broken order withdraws the claims of this window: those pages claimed too much.
  if (!position.ordered) return position.base;
  const maxSeen = cursorOfText(position.maxSeen, cursor.form);
  return claimOf(position, cursor, { maxSeen, windowEnd: null });
}

function claimAtEnd(position: ReadPosition, cursor: CursorPlan): string | null {
  const maxSeen = cursorOfText(position.maxSeen, cursor.form);
  const to = cursor.window === null ? null : cursorOfText(position.to, cursor.form);
  // Without cursor values in the records the settle time is subtracted from every window, not only from the last.
  const windowEnd = typeof to === 'bigint' && cursor.field === null ? to - BigInt(cursor.settleMs) : to;
  return claimOf(position, cursor, { maxSeen, windowEnd });
}

function claimOf(
  position: ReadPosition,
  cursor: CursorPlan,
  seen: { readonly maxSeen: CursorValue | null; readonly windowEnd: CursorValue | null },
): string | null {
  const { form, settleMs } = cursor;
  const cap = isTimeCursor(form.type) ? BigInt(Date.parse(position.runStart) - settleMs) : null;
  const bound = cursor.window === null ? cap : lesser(cap, cursorOfText(position.to, form));
  const claim = advanceWatermark(cursorOfText(position.claim, form), { ...seen, cap: bound });
  return claim === null ? null : cursorText(claim, form);
}

const lesser = (left: CursorValue | null, right: CursorValue | null) =>
  left === null || (right !== null && right < left) ? right : left;

function nextPage(position: ReadPosition, page: PagePosition, guard: GuardState): ReadPosition {
  return { ...position, page, guard };
}

/** Null after the last window. A window that had to be split grows back to its size by doubling. */
function nextWindow(plan: ReadPlan, cursor: CursorPlan, position: ReadPosition): ReadPosition | null {
  const { window } = cursor;
  const to = instantOf(position.to, cursor);
  const end = instantOf(position.end, cursor);
  if (window === null || to === null || end === null || to >= end) return null;
  const width = to - (instantOf(position.from, cursor) ?? to);
  const from = new Date(to - Math.min(window.overlapMs, Math.max(width - 1000, 0))).toISOString();
  const sizeMs = Math.min(window.sizeMs, Math.max(width * 2, 1000));
  const empty = { guard: noPages, restarts: 0, maxSeen: null, lastSeen: null };
  const bounds = {
    from,
    to: endOfWindow(cursor, { from, end: position.end, sizeMs }),
    windowNo: position.windowNo + 1,
  };
  const page = firstPageLike(plan.firstPage, position.page);
  const { job: _ofThisWindow, ...rest } = position;
  return { ...rest, ...empty, ...bounds, page, base: position.claim };
}

/** Watermark less lookback, inclusive; `start` before the first read and for a backfill. */
function windowStart(plan: ReadPlan, cursor: CursorPlan, now: Date): string | null {
  const watermark = plan.backfill ? null : cursorOfText(plan.watermarkBefore, cursor.form);
  if (watermark === null || isForgotten(watermark, cursor, now)) return plan.start;
  if (typeof watermark === 'string' || !isTimeCursor(cursor.form.type)) return cursorText(watermark, cursor.form);
  return cursorText(watermark - BigInt(cursor.lookbackMs), cursor.form);
}

/** Whether the API no longer has the records after the watermark, and the spec declares a full read for that case. */
function isForgotten(watermark: CursorValue, cursor: CursorPlan, now: Date): boolean {
  const { retention, form } = cursor;
  if (retention === null || !isTimeCursor(form.type)) return false;
  if (now.getTime() - Number(watermark) <= retention.maxAgeMs) return false;
  if (retention.onExceeded === 'full') return true;
  const days = Math.round(retention.maxAgeMs / 86_400_000);
  const message = `The watermark is older than the ${days} days for which the API keeps changes: changes would be lost silently.`;
  throw new AppError('source_rejected', `${message} Run a backfill, or set retention.onExceeded to "full".`);
}

/** Run start for instants, the watermark for a backfill, else open. Never before `from`, even if our clock is wrong. */
function readEnd(
  plan: ReadPlan,
  cursor: CursorPlan,
  at: { readonly now: Date; readonly from: string | null },
): string | null {
  if (plan.backfill && plan.watermarkBefore !== null) return plan.watermarkBefore;
  if (!isTimeCursor(cursor.form.type)) return null;
  const from = at.from === null ? Number.NEGATIVE_INFINITY : Date.parse(at.from);
  return new Date(Math.max(at.now.getTime(), from)).toISOString();
}

function endOfWindow(
  cursor: CursorPlan,
  bounds: { readonly from: string | null; readonly end: string | null; readonly sizeMs: number },
): string | null {
  const { from, end, sizeMs } = bounds;
  if (cursor.window === null || from === null || end === null) return end;
  return new Date(Math.min(Date.parse(from) + sizeMs, Date.parse(end))).toISOString();
}

function instantOf(text: string | null, cursor: CursorPlan): number | null {
  return text === null || !isTimeCursor(cursor.form.type) ? null : Date.parse(text);
}

const earlier = (ours: string, theirs: Date | null) =>
  theirs !== null && theirs.getTime() < Date.parse(ours) ? theirs.toISOString() : ours;

const quiet = (watermark: string | null) => ({ watermark, orderBroken: false });
