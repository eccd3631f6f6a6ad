import { AppError } from '../../errors.ts';
import type { CursorPlan, JobPosition, PagePosition, ReadPlan, ReadPosition } from '../../model/read-position.ts';
import { type GuardState } from '../../model/read-position.ts';
import { isTimeCursor } from '../../spec/schema/incremental-schema.ts';
import { claimAfter, claims, readAtEnd, type SeenCursors, withCursors } from './claims.ts';
import { noPages } from './page-guard.ts';
import { firstPageLike } from './smaller-page.ts';
import { firstBounds, nextBounds } from './window-bounds.ts';

export interface PageFacts extends SeenCursors {
  readonly next: PagePosition | null;
  readonly guard: GuardState;
  /** The API's clock when it responded, or `null` if it sent none. */
  readonly serverDate: Date | null;
  /** Where the next token read starts, or `null` if the response has none. */
  readonly token: string | null;
  /** The API neither sent the list nor confirmed that all of it is unchanged. */
  readonly isUnlisted: boolean;
  /** Records of the window may have been skipped, so its claim is withdrawn. */
  readonly isContradicted?: boolean;
}

export interface Step {
  readonly position: ReadPosition | null;
  /** Canonical text that may be stored once this page and all before are delivered, or `null`. */
  readonly watermark: string | null;
  /** The page broke the declared order, for the first time in this read. */
  readonly orderBroken: boolean;
  /** As-of time (ISO) of a complete read, or `null` if it is not to be stored. */
  readonly readAt: string | null;
}

/**
 * `now` is our clock; throws `source_rejected` if the watermark is older than the API's memory and the spec says that
 * this must fail.
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
    firstMax: null,
    lastSeen: null,
    ordered: true,
    base: before,
    claim: before,
  };
}

/** The stored position if it belongs to this plan, otherwise (other watermark, other spec) the first one. */
export function resumePosition(plan: ReadPlan, stored: ReadPosition | null, now: Date): ReadPosition {
  return stored?.fingerprint === plan.fingerprint ? stored : firstPosition(plan, now);
}

/** Pure: the same page of the same position always leads to the same step. */
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
 * Used after a page token expired or the parts of a report changed; fingerprints recognize records delivered before.
 * Throws `source_rejected` at the fourth time, as tokens that expire too early make an API unreadable.
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
    firstMax: null,
    lastSeen: null,
    page: firstPageLike(plan.firstPage, position.page),
    restarts: position.restarts + 1,
  };
}

/** Restarts the window at its first page, without its claims. */
export const begunAgain = (plan: ReadPlan, position: ReadPosition): ReadPosition => ({
  ...position,
  guard: noPages,
  maxSeen: null,
  firstMax: null,
  lastSeen: null,
  claim: position.base,
  page: firstPageLike(plan.firstPage, position.page),
});

/** Restarts a token read, because the API no longer knows the stored token. */
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

/** `null` after the last window. */
function nextWindow(plan: ReadPlan, cursor: CursorPlan, position: ReadPosition): ReadPosition | null {
  const bounds = nextBounds(position, cursor);
  if (bounds === null) return null;
  const empty = { guard: noPages, restarts: 0, maxSeen: null, firstMax: null, lastSeen: null };
  const page = firstPageLike(plan.firstPage, position.page);
  const { job: _job, read: _read, trail: _trail, moves: _moves, ...rest } = position;
  return { ...rest, ...empty, ...bounds, windowNo: position.windowNo + 1, page, base: position.claim };
}

/** Tolerated difference between the clocks of API and service. */
const clocksApartMsMax = 300_000;

/** Whether the first response of a read by times shows a clock that holds the watermark back by minutes. */
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
 * Adds the clock of the first response, which dates records if it is behind ours. A record later than it, but not later
 * than our clock, shows that another machine wrote that header.
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
