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

/** The records of a page that count, and their cursor values. */
export interface CursorPage {
  readonly records: readonly unknown[];
  /** Values of the records that have one, in the API's order. */
  readonly cursors: readonly CursorValue[];
  /** Records whose cursor value is missing or not of the declared form. */
  readonly withoutCursor: number;
  /** A newest-first read with `clientFilter` has come below its window: no further page has records of it. */
  readonly belowWindow: boolean;
}

/**
 * Reads the cursor of each record. Records without one are kept, excluded, or rejected (`cursor.missing`); with
 * `clientFilter` those below the window are excluded. Throws `source_rejected` for `missing: fail`.
 */
export async function readCursors(
  records: readonly unknown[],
  cursor: CursorPlan,
  position: ReadPosition,
): Promise<CursorPage> {
  const { field } = cursor;
  if (field === null) return { records, cursors: [], withoutCursor: 0, belowWindow: false };
  const start = cursor.clientFilter ? cursorOfText(position.from, cursor.form) : null;
  const from = start === null ? null : filterBound(start, cursor.form);
  const reading: Reading = { cursor, field, from, kept: [], cursors: [], withoutCursor: 0, below: 0 };
  // A date in a named time zone costs 20 µs.
  await mapWithPauses(records, readCursor, reading);
  const { kept, cursors, withoutCursor, below } = reading;
  if (withoutCursor > 0 && cursor.missing === 'fail') throw missingCursor(field, withoutCursor);
  return { records: kept, cursors, withoutCursor, belowWindow: below > 0 && cursor.order === 'desc' };
}

/** The cursors of one page, as it is read. */
interface Reading {
  readonly cursor: CursorPlan;
  readonly field: string;
  /** The window's start; null: nothing is excluded. */
  readonly from: CursorValue | null;
  readonly kept: unknown[];
  readonly cursors: CursorValue[];
  withoutCursor: number;
  below: number;
}

function readCursor(record: unknown, reading: Reading): void {
  const { cursor, field, from, kept, cursors } = reading;
  const value = parseCursor(valueAt(record, field), cursor.form);
  if (value === null) {
    reading.withoutCursor += 1;
    if (cursor.missing === 'include') kept.push(record);
  } else if (from !== null && isBelow(value, from, cursor.form)) {
    reading.below += 1;
  } else {
    cursors.push(value);
    kept.push(record);
  }
}

/** Whether every instant that the value can mean is below. */
const isBelow = (value: CursorValue, bound: CursorValue, form: CursorShape): boolean =>
  compareCursors(value, bound) < 0 && compareCursors(latestMeaning(value, form), bound) < 0;

function missingCursor(field: string, count: number): AppError {
  const message = `${count} records of a page have no readable cursor "${field}", and cursor.missing is "fail".`;
  return new AppError('source_rejected', `${message} Correct the field or its format in the spec.`);
}
