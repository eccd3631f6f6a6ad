import { type CursorValue, compareCursors } from './cursor-value.ts';

/** What a read has reached, all of one cursor. */
export interface Reached {
  /** The greatest value among the records; null when there was none. */
  readonly maxSeen: CursorValue | null;
  /** The end of a window that was read completely; null while it is being read, and without windows. */
  readonly windowEnd: CursorValue | null;
  /** Run start minus settle: nothing later may be claimed. Null for cursors that are no instants. */
  readonly cap: CursorValue | null;
}

/**
 * The watermark after a read: a claim that every record below it is delivered, not the maximum seen.
 *
 * `max(before, min(reached, cap))`. A read without records and without a window keeps `before`: an empty response says
 * nothing about the API's clock. A record dated in the future cannot pass the cap. Never decreases.
 */
export function advanceWatermark(before: CursorValue | null, reached: Reached): CursorValue | null {
  const end = reached.windowEnd ?? reached.maxSeen;
  if (end === null) return before;
  return greaterCursor(before, reached.cap === null ? end : lesserCursor(end, reached.cap));
}

/** The greater of two; null counts as nothing. */
export function greaterCursor(left: CursorValue | null, right: CursorValue): CursorValue {
  return left !== null && compareCursors(left, right) > 0 ? left : right;
}

/** The lesser of two. */
function lesserCursor(left: CursorValue, right: CursorValue): CursorValue {
  return compareCursors(left, right) < 0 ? left : right;
}

/** The greatest of a page; null for a page without cursor values. */
export const greatestCursor = (values: readonly CursorValue[]): CursorValue | null =>
  values.reduce<CursorValue | null>(greaterCursor, null);

/**
 * Whether a page continues an ascending read: no value is below the one before it.
 *
 * `last` is the last value of the page before. With `overlap` the page repeats records of the page before
 * on purpose, so only its own last value has to reach `last`.
 */
export function continuesAscending(
  values: readonly CursorValue[],
  last: CursorValue | null,
  options: { readonly overlap: boolean },
): boolean {
  return values.every(continuesBefore) && rises(last, options.overlap ? values.at(-1) : values[0]);
}

const continuesBefore = (value: CursorValue, index: number, values: readonly CursorValue[]): boolean =>
  index === 0 || rises(values[index - 1], value);

const rises = (left: CursorValue | null | undefined, right: CursorValue | undefined): boolean =>
  left === null || left === undefined || right === undefined || compareCursors(left, right) <= 0;
