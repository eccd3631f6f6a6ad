import { AppError } from '../../errors.ts';
import { valueAt } from '../../json/dotted-path.ts';
import type { CursorPlan, ReadPosition } from '../../model/read-position.ts';
import { type CursorShape } from '../../model/read-position.ts';
import { mapWithPauses } from '../../work/map-with-pauses.ts';
import {
  type CursorValue,
  compareCursors,
  cursorOfText,
  filterBound,
  latestMeaning,
  parseCursor,
} from '../cursor/cursor-value.ts';
import type { SeenCursors } from './claims.ts';

export interface CursorPage extends SeenCursors {
  readonly records: readonly unknown[];
  /** Records whose cursor value is missing or not of the declared form. */
  readonly withoutCursor: number;
  /** Newest first with `clientFilter`: the page ends below the window, and all records so far were in order. */
  readonly endsBelow: boolean;
  /** So does most of the page, so further pages have no records of the window. */
  readonly isBelow: boolean;
}

export const noCursors: Omit<CursorPage, 'records'> = {
  cursors: [],
  rises: false,
  withoutCursor: 0,
  endsBelow: false,
  isBelow: false,
};

/**
 * Records without a cursor are kept, excluded or rejected by `cursor.missing`, and `clientFilter` excludes those below
 * the window. Throws `source_rejected` for `missing: fail`.
 */
export async function readCursors(
  records: readonly unknown[],
  cursor: CursorPlan,
  position: ReadPosition,
): Promise<CursorPage> {
  const { field } = cursor;
  if (field === null) return { ...noCursors, records };
  const start = cursor.clientFilter ? cursorOfText(position.from, cursor.form) : null;
  const from = start === null ? null : filterBound(start, cursor.form);
  const reading: Reading = { cursor, field, from, kept: [], cursors: [], withoutCursor: 0, rises: false, ...noValues };
  // A date in a named time zone costs 20 µs.
  await mapWithPauses(records, readCursor, reading);
  const { kept, cursors, withoutCursor } = reading;
  if (withoutCursor > 0 && cursor.missing === 'fail') throw missingCursor(field, withoutCursor);
  const rises = cursor.order === 'desc' && from !== null && (reading.rises || risesAbove(reading, position));
  const endsBelow = cursor.order === 'desc' && reading.below > 0 && position.ordered && !rises;
  return { records: kept, cursors, withoutCursor, rises, endsBelow, isBelow: endsBelow && isMost(reading) };
}

/** Whether most of the page is below the window: a few old records at its end may be out of order. */
const isMost = ({ below, values }: Reading): boolean => below > values / 2;

/** Whether the page rises above the last value of the page before; one that repeats its records may begin above it. */
function risesAbove({ cursor, first, last }: Reading, { lastSeen }: ReadPosition): boolean {
  const before = cursorOfText(lastSeen, cursor.form);
  const value = cursor.overlap ? last : first;
  return before !== null && value !== null && compareCursors(value, before) > 0;
}

interface Reading {
  readonly cursor: CursorPlan;
  readonly field: string;
  readonly from: CursorValue | null;
  readonly kept: unknown[];
  readonly cursors: CursorValue[];
  withoutCursor: number;
  /** Whether or not their records count; `null` before any. */
  first: CursorValue | null;
  last: CursorValue | null;
  values: number;
  /** Values below the window at the end of the page. */
  below: number;
  rises: boolean;
}

const noValues: Pick<Reading, 'first' | 'last' | 'values' | 'below'> = { first: null, last: null, values: 0, below: 0 };

function readCursor(record: unknown, reading: Reading): void {
  const { cursor, field, from, kept, cursors } = reading;
  const value = parseCursor(valueAt(record, field), cursor.form);
  if (value === null) {
    reading.withoutCursor += 1;
    if (cursor.missing === 'include') kept.push(record);
    return;
  }
  reading.rises ||= reading.last !== null && compareCursors(value, reading.last) > 0;
  reading.first ??= value;
  reading.last = value;
  reading.values += 1;
  if (from !== null && isBelow(value, from, cursor.form)) {
    reading.below += 1;
    return;
  }
  reading.below = 0;
  cursors.push(value);
  kept.push(record);
}

/** Whether every instant that the value can mean is below. */
const isBelow = (value: CursorValue, bound: CursorValue, form: CursorShape): boolean =>
  compareCursors(value, bound) < 0 && compareCursors(latestMeaning(value, form), bound) < 0;

function missingCursor(field: string, count: number): AppError {
  const message = `${count} records of a page have no readable cursor "${field}", and cursor.missing is "fail".`;
  return new AppError('source_rejected', `${message} Correct the field or its format in the spec.`);
}
