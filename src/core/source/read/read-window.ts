import { AppError } from '../../errors.ts';
import type { CursorPlan, JobPosition, PagePosition, ReadPlan, ReadPosition } from '../../model/read-position.ts';
import { type GuardState } from '../../model/read-position.ts';
import { isTimeCursor } from '../../spec/schema/incremental-schema.ts';
import { claimAfter, claims, readAtEnd, type SeenCursors, withCursors } from './claims.ts';
import { noPages } from './page-guard.ts';
import { firstPageLike } from './smaller-page.ts';
import { firstBounds, nextBounds } from './window-bounds.ts';

/** The facts of a page that the plan needs. */
export interface PageFacts extends SeenCursors {
  /** The next position; null: the window has no further page. */
  readonly next: PagePosition | null;
  readonly guard: GuardState;
  /** The API's clock when it responded; null when it sent none. */
  readonly serverDate: Date | null;
  /** Token reads: what to start from next time; null when the response has none. */
  readonly token: string | null;
  /** The API has not sent the list now, nor said of all of it that it is the same. */
  readonly isUnlisted: boolean;
  /** Records of the window may have been passed over: what it claimed is withdrawn. Absent: no. */
  readonly isContradicted?: boolean;
}

/** The result of a page. */
export interface Step {
  /** The page after it; null: the read is complete. */
  readonly position: ReadPosition | null;
  /** The watermark as canonical text that may be stored once this page and all before are delivered; null: none yet. */
  readonly watermark: string | null;
  /** The page broke the declared order (first time in this read). */
  readonly orderBroken: boolean;
  /** As of when the API has been read to its end, where that is to be stored anew; ISO. Null: it is not. */
  readonly readAt: string | null;
}

/**
 * The position at the first page of a read. `now` is our clock. Throws `source_rejected` when the watermark is
 * older than the API's memory and the spec says that this must fail.
 */
export function firstPosition(plan: ReadPlan, now: Date): ReadPosition {
  const before = plan.watermarkBefore;
  const begin = plan.backfill ? plan.start : (before ?? plan.start);
  const token = {
    from: plan.kind === 'token' ? begin : null,
    to: null,
    end: null,
    ...(plan.startsOver && { again: true as const }),
  };
  return {
    fingerprint: plan.fingerprint,
    runStart: now.toISOString(),
    clockChecked: false,
    pagesRead: 0,
    windowNo: 1,
    ...(plan.cursor ? firstBounds(plan, plan.cursor, now) : token),
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
  const read = { ...withClock(plan, position, facts), pagesRead: position.pagesRead + 1 };
  const listed: ReadPosition = facts.isUnlisted ? { ...read, covered: false } : read;
  const reached: ReadPosition = facts.isContradicted ? { ...listed, covered: false, claim: read.base } : listed;
  if (plan.cursor) return advanceCursor(plan, plan.cursor, { reached, facts });
  if (facts.next) return { position: nextPage(reached, facts.next, facts.guard), ...quiet(reached.claim) };
  const mayClaim = plan.kind === 'token' && claims(plan, reached) && reached.covered !== false;
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

/** The window at its first page, with nothing claimed of it. */
export const begunAgain = (plan: ReadPlan, position: ReadPosition): ReadPosition => ({
  ...position,
  guard: noPages,
  maxSeen: null,
  lastSeen: null,
  claim: position.base,
  page: firstPageLike(plan.firstPage, position.page),
});

/** A token read from the start, after the API no longer knows the stored token. */
export function restartFromStart(plan: ReadPlan, position: ReadPosition): ReadPosition {
  return { ...restartWindow(plan, position), from: plan.start, again: true };
}

function advanceCursor(
  plan: ReadPlan,
  cursor: CursorPlan,
  page: { readonly reached: ReadPosition; readonly facts: PageFacts },
): Step {
  const { reached, facts } = page;
  const seen = withCursors(reached, cursor, facts);
  const orderBroken = reached.ordered && !seen.ordered;
  const claim = claimAfter(plan, cursor, { position: seen, isEnd: facts.next === null });
  if (facts.next) {
    const position = { ...nextPage(seen, facts.next, facts.guard), claim };
    return { position, watermark: claim, orderBroken, readAt: null };
  }
  const position = nextWindow(plan, cursor, { ...seen, claim });
  return { position, watermark: claim, orderBroken, readAt: position === null ? readAtEnd(plan, cursor, seen) : null };
}

/** Null after the last window. */
function nextWindow(plan: ReadPlan, cursor: CursorPlan, position: ReadPosition): ReadPosition | null {
  const bounds = nextBounds(position, cursor);
  if (bounds === null) return null;
  const empty = { guard: noPages, restarts: 0, maxSeen: null, lastSeen: null };
  const page = firstPageLike(plan.firstPage, position.page);
  const { job: _job, read: _read, trail: _trail, moves: _moves, ...rest } = position;
  return { ...rest, ...empty, ...bounds, windowNo: position.windowNo + 1, page, base: position.claim };
}

/** Milliseconds by which the clocks of API and service may differ before either is doubted. */
const clocksApartMsMax = 300_000;

/** Whether the first response of a read by times shows a clock that holds its watermark back by minutes. */
export const isApart = (
  { cursor }: ReadPlan,
  { clockChecked }: ReadPosition,
  { serverDate, now }: { readonly serverDate: Date | null; readonly now: Date },
): boolean =>
  !clockChecked &&
  (cursor === null ? false : isTimeCursor(cursor.form.type)) &&
  serverDate !== null &&
  now.getTime() - serverDate.getTime() > clocksApartMsMax;

/**
 * The position with the clock of the first response, which makes the times of records if it is behind ours. It does not
 * where a record is later than it, and none is later than our clock: some other machine has written that header.
 */
function withClock(plan: ReadPlan, position: ReadPosition, { serverDate, cursors }: PageFacts): ReadPosition {
  const { clockChecked, runStart, ...rest } = position;
  const isBehind = !clockChecked && serverDate !== null && serverDate.getTime() < Date.parse(runStart);
  const checked: ReadPosition = {
    ...{ ...rest, runStart, clockChecked: true },
    ...(isBehind && { apiStart: serverDate.toISOString() }),
  };
  const { apiStart, ...own } = checked;
  if (apiStart === undefined || plan.cursor === null || !isTimeCursor(plan.cursor.form.type)) return checked;
  const latest = Date.parse(apiStart) + clocksApartMsMax;
  return cursors.some((value) => Number(value) > latest && Number(value) <= Date.parse(runStart)) ? own : checked;
}

function nextPage(position: ReadPosition, page: PagePosition, guard: GuardState): ReadPosition {
  return { ...position, page, guard };
}

const quiet = (watermark: string | null) => ({ watermark, orderBroken: false, readAt: null });
