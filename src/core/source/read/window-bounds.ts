import { AppError } from '../../errors.ts';
import type { CursorPlan, ReadPlan, ReadPosition } from '../../model/read-position.ts';
import { isTimeCursor } from '../../spec/schema/incremental-schema.ts';
import { cursorOfText, cursorText } from '../cursor/cursor-value.ts';

export type FirstBounds = Pick<ReadPosition, 'from' | 'to' | 'end' | 'again'>;

/**
 * Throws `source_rejected` if the API no longer has the changes after the watermark and the spec says that this must
 * fail.
 */
export function firstBounds(plan: ReadPlan, cursor: CursorPlan, now: Date): FirstBounds {
  const again = plan.startsOver || readsAgain(plan, cursor, now);
  const from = again || plan.backfill ? plan.start : lowerBound(plan, cursor);
  const end = readEnd(plan, cursor, { now, from, again });
  const to = endOfWindow(cursor, { from, end, sizeMs: cursor.window?.sizeMs ?? 0 });
  return { from, to, end, ...(again && { again }) };
}

/** `null` after the last window; a split one grows back by doubling what it reads beyond the one before. */
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

/** Whether the API may have cut the window: a count at the cap may really be higher. */
export const isAtCap = (counted: number | null, { resultCap }: Pick<CursorPlan, 'resultCap'>): boolean =>
  counted !== null && resultCap !== null && counted >= resultCap.records;

/** Whether the window is read in halves; exactly at the cap, one that cannot be split may still be read newest first. */
export function mustSplit(position: ReadPosition, cursor: CursorPlan, counted: number | null): boolean {
  if (!isAtCap(counted, cursor)) return false;
  const endsBelow = cursor.clientFilter && cursor.order === 'desc';
  return counted !== cursor.resultCap?.records || !endsBelow || canSplit(position, cursor);
}

/** Whether the spec allows a split, and the halves have at least a second. */
function canSplit(position: ReadPosition, cursor: CursorPlan): boolean {
  const [from, to] = [instantOf(position.from, cursor), instantOf(position.to, cursor)];
  return cursor.resultCap?.onReached === 'split' && from !== null && to !== null && to - edgeOf(position, from) >= 2000;
}

/**
 * Keeps the first half of what the window has beyond the one before, throwing `source_rejected` if it may not or cannot
 * be split (to 1 s at least).
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

/** End of the window before, or the start of the first one. */
const edgeOf = ({ edge }: ReadPosition, from: number): number => (edge === undefined ? from : Date.parse(edge));

/** Watermark less lookback, inclusive, or the start of the plan before the first read. */
function lowerBound(plan: ReadPlan, cursor: CursorPlan): string | null {
  const { form } = cursor;
  const watermark = cursorOfText(plan.watermarkBefore, form);
  if (watermark === null) return plan.start;
  if (typeof watermark === 'string') return cursorText(watermark, form);
  return cursorText(watermark - BigInt(isTimeCursor(form.type) ? cursor.lookbackMs : cursor.lookbackUnits), form);
}

/**
 * Whether the API no longer has all changes since the last complete read. The read then starts over if the spec says
 * so, or by a backfill from before that time, which is the way out otherwise.
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
 * Run start for instants, otherwise open, and never before `from` even if our clock is wrong. A backfill also covers
 * the settle time above the watermark, because a sync of changed parents does not read it again.
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
