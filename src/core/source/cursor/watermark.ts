import { type CursorValue, compareCursors } from './cursor-value.ts';

/** All values are of one cursor. */
export interface Reached {
  readonly maxSeen: CursorValue | null;
  /** `null` while the window is being read, and without windows. */
  readonly windowEnd: CursorValue | null;
  /** Run start minus settle, above which nothing may be claimed; `null` for cursors that are not instants. */
  readonly cap: CursorValue | null;
}

/**
 * The watermark after a read, `max(before, min(reached, cap))`, claims that every record below it is delivered. A read
 * without records and windows keeps `before`, as an empty response says nothing about the API's clock. A record dated
 * in the future cannot pass the cap.
 */
export function advanceWatermark(before: CursorValue | null, reached: Reached): CursorValue | null {
  const end = reached.windowEnd ?? reached.maxSeen;
  if (end === null) return before;
  return greaterCursor(before, reached.cap === null ? end : lesserCursor(end, reached.cap));
}

export function greaterCursor(left: CursorValue | null, right: CursorValue): CursorValue {
  return left !== null && compareCursors(left, right) > 0 ? left : right;
}

function lesserCursor(left: CursorValue, right: CursorValue): CursorValue {
  return compareCursors(left, right) < 0 ? left : right;
}

export const greatestCursor = (values: readonly CursorValue[]): CursorValue | null =>
  values.reduce<CursorValue | null>(greaterCursor, null);

/**
 * `last` is the last value of the page before. With `overlap` a page repeats records on purpose, so only its own last
 * value has to reach `last`.
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
