/** Where the windows of a read begin and end. */
import { AppError } from '../../errors.ts';
import type { CursorPlan, ReadPlan, ReadPosition } from '../../model/read-position.ts';
import { isTimeCursor } from '../../spec/schema/incremental-schema.ts';
import { cursorOfText, cursorText } from '../cursor/cursor-value.ts';

/** What the first window of a read has: bounds as canonical text, and whether everything is read again. */
export type FirstBounds = Pick<ReadPosition, 'from' | 'to' | 'end' | 'again'>;

/**
 * The first window. Throws `source_rejected` when the API no longer has what came after the watermark and the spec says
 * that this must fail.
 */
export function firstBounds(plan: ReadPlan, cursor: CursorPlan, now: Date): FirstBounds {
  const again = plan.startsOver || readsAgain(plan, cursor, now);
  const from = again || plan.backfill ? plan.start : lowerBound(plan, cursor);
  const end = readEnd(plan, cursor, { now, from, again });
  const to = endOfWindow(cursor, { from, end, sizeMs: cursor.window?.sizeMs ?? 0 });
  return { from, to, end, ...(again && { again }) };
}

/**
 * The window after this one; null: it was the last. One that had to be split grows back to its size by doubling what it
 * reads beyond the one before.
 */
export function nextBounds(
  position: ReadPosition,
  cursor: CursorPlan,
): Pick<ReadPosition, 'from' | 'to' | 'edge'> | null {
  const { window } = cursor;
  const to = instantOf(position.to, cursor);
  const end = instantOf(position.end, cursor);
  if (window === null || to === null || end === null || to >= end || position.to === null) return null;
  const first = instantOf(position.from, cursor) ?? to;
  // Never before the start of the read.
  const from = Math.max(to - window.overlapMs, first);
  const grown = to + Math.max(2 * (to - edgeOf(position, first)), 1000);
  const next = Math.min(Math.max(from + window.sizeMs, to + 1000), grown, end);
  return { from: new Date(from).toISOString(), to: new Date(next).toISOString(), edge: position.to };
}

/** Whether the API may have cut the window there: a count that is the cap itself may be more. */
export const isAtCap = (counted: number | null, { resultCap }: Pick<CursorPlan, 'resultCap'>): boolean =>
  counted !== null && resultCap !== null && counted >= resultCap.records;

/** Whether a window is read in halves by its count. One that is cut may still be read where newest records come first. */
export function mustSplit(position: ReadPosition, cursor: CursorPlan, counted: number | null): boolean {
  if (!isAtCap(counted, cursor)) return false;
  const endsBelow = cursor.clientFilter && cursor.order === 'desc';
  return counted !== cursor.resultCap?.records || !endsBelow || canSplit(position, cursor);
}

/** Whether the spec allows to split the window, and its halves are a second at least. */
function canSplit(position: ReadPosition, cursor: CursorPlan): boolean {
  const [from, to] = [instantOf(position.from, cursor), instantOf(position.to, cursor)];
  return cursor.resultCap?.onReached === 'split' && from !== null && to !== null && to - edgeOf(position, from) >= 2000;
}

/**
 * The window with the first half of what it has beyond the one before, as it may have more records than the API returns for one.
 * Throws `source_rejected` when it may not or cannot be split (to 1 s at the least).
 */
export function splitWindow(position: ReadPosition, cursor: CursorPlan, total: number): ReadPosition {
  const from = instantOf(position.from, cursor);
  const to = instantOf(position.to, cursor);
  const cap = cursor.resultCap?.records ?? 0;
  const bound = total > cap ? 'more than the API returns' : 'as many as the API returns at most, so it may have more';
  const reason = `A window has ${total} records, ${bound} (${cap})`;
  if (cursor.resultCap?.onReached !== 'split')
    throw new AppError('source_rejected', `${reason}. Use a smaller window.`);
  if (from === null || to === null) {
    throw new AppError('source_rejected', `${reason}, and it cannot be split. Narrow the request.`);
  }
  const edge = edgeOf(position, from);
  if (to - edge < 2000) {
    const advice = edge > from ? 'Use a smaller window.overlap, or narrow the request.' : 'Narrow the request.';
    throw new AppError('source_rejected', `${reason}, and it cannot be split further. ${advice}`);
  }
  const half = edge + Math.floor((to - edge) / 2000) * 1000;
  return { ...position, to: new Date(half).toISOString() };
}

/** Where the window before ended; that of the first one is its beginning. */
const edgeOf = ({ edge }: ReadPosition, from: number): number => (edge === undefined ? from : Date.parse(edge));

/** Watermark less lookback, inclusive; the start of the plan before the first read. */
function lowerBound(plan: ReadPlan, cursor: CursorPlan): string | null {
  const { form } = cursor;
  const watermark = cursorOfText(plan.watermarkBefore, form);
  if (watermark === null) return plan.start;
  if (typeof watermark === 'string') return cursorText(watermark, form);
  return cursorText(watermark - BigInt(isTimeCursor(form.type) ? cursor.lookbackMs : cursor.lookbackUnits), form);
}

/**
 * Whether the API no longer has what changed since the partition was last read to its end, so that the read begins at its
 * start again: as the spec says, or as a backfill from before that time, which is the way out where the spec says nothing.
 */
function readsAgain(plan: ReadPlan, cursor: CursorPlan, now: Date): boolean {
  const { retention, form } = cursor;
  const watermark = cursorOfText(plan.watermarkBefore, form);
  if (retention === null || watermark === null || !isTimeCursor(form.type)) return false;
  const limit = now.getTime() - retention.maxAgeMs;
  if (Number(watermark) >= limit || (plan.readAt && Date.parse(plan.readAt) >= limit)) return false;
  if (plan.backfill) return plan.start === null || Date.parse(plan.start) <= limit;
  if (retention.onExceeded === 'full') return true;
  const days = Math.round(retention.maxAgeMs / 86_400_000);
  const message = `The watermark is older than the ${days} days for which the API keeps changes: changes would be lost silently.`;
  const advice = 'Run a backfill from before that time, or set retention.onExceeded to "full".';
  throw new AppError('source_rejected', `${message} ${advice}`);
}

/**
 * Run start for instants, where a backfill ends, else open. Never before `from`, even if our clock is wrong. A backfill ends
 * at the watermark and what was read above it, which had not settled: a sync of changed parents does not come back to it.
 */
function readEnd(
  plan: ReadPlan,
  cursor: CursorPlan,
  at: { readonly now: Date; readonly from: string | null; readonly again: boolean },
): string | null {
  const watermark = plan.backfill && !plan.isOpen && !at.again ? plan.watermarkBefore : null;
  if (!isTimeCursor(cursor.form.type)) return watermark;
  const from = at.from === null ? Number.NEGATIVE_INFINITY : Date.parse(at.from);
  const now = Math.max(at.now.getTime(), from);
  if (watermark === null) return new Date(now).toISOString();
  const [below, above] = [Date.parse(watermark), Date.parse(watermark) + cursor.settleMs];
  return new Date(Math.max(Math.min(above, now), below)).toISOString();
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
