/** The step after one page: its result, and where the read continues. */

import { type Gap, type Gaps, isListed, withGaps } from '../../model/coverage.ts';
import type { ReadPlan, ReadPosition } from '../../model/read-position.ts';
import type { ReadNote } from '../../model/run-notes.ts';
import { keptValidators } from '../request/validators.ts';
import type { Source } from '../source.ts';
import type { Page, PageRequest } from './fetch-page.ts';
import { joinedPage, movedEdges, type ReadBack, valueBefore } from './list-moves.ts';
import { trailBehind } from './list-trail.ts';
import { isMovable } from './movable.ts';
import { type CursorPage, noCursors, readCursors } from './page-cursors.ts';
import { isContradicted, itemsRead, pageGaps } from './page-evidence.ts';
import { noPages, type PageGuard } from './page-guard.ts';
import type { PageRead } from './page-read.ts';
import type { PagesAhead } from './pages-ahead.ts';
import { advance, begunAgain, isApart, restartWindow } from './read-window.ts';
import { isScroll, repetitionOf } from './repeated-page.ts';
import { nextPart } from './report-parts.ts';
import type { ReportWindow } from './report-window.ts';
import { firstPageLike } from './smaller-page.ts';
import { isAtCap, mustSplit, splitWindow } from './window-bounds.ts';

type RecordsPage = Extract<Page, { kind: 'records' }>;

export type Step =
  | { readonly read: PageRead; readonly bodyBytes: number }
  | { readonly retryFrom: ReadPosition; readonly note: ReadNote | null };

export interface WindowState {
  readonly guard: PageGuard;
  readonly report: ReportWindow | null;
}

export interface Stepping {
  readonly source: Source;
  readonly plan: ReadPlan;
  readonly ahead: PagesAhead;
  /** Requests an earlier page again. */
  readonly look: (request: PageRequest) => Promise<Page>;
  readonly looksAtOnce: () => number;
  /** The page before the current one, or `null` if this process has read none. */
  readonly last: { page: RecordsPage | null };
}

export interface PageState extends WindowState {
  readonly request: PageRequest;
  readonly position: ReadPosition;
  /** If absent, they follow from the records. */
  readonly gaps?: Gaps;
  /** The API has confirmed that the whole list is unchanged. */
  readonly isUnchanged?: boolean;
}

/** Throws what the rules of cursors, of repeated pages and of windows throw, and what `look` throws. */
export async function stepOf(reading: Stepping, given: RecordsPage, at: PageState): Promise<Step> {
  const { plan, source, ahead, last, look } = reading;
  const looksAtOnce = reading.looksAtOnce();
  const { request, guard, report, isUnchanged = false } = at;
  const position = withLooseness(source, at.position);
  const { cursor } = plan;
  if (cursor && position.page.index === 1 && mustSplit(position, cursor, given.counted))
    return { retryFrom: splitWindow(position, cursor, given.counted ?? 0), note: 'window_split' };
  // An earlier process may have been given the pages before this one without having read them.
  if (last.page === null && position.page.index > 1 && isScroll(given, position.page, source))
    return goBack(reading, { retryFrom: restartWindow(plan, position), note: 'window_restarted' });
  const isBack = (position.trail?.back ?? 0) > 0;
  const repeated = isBack ? 'no' : repetitionOf(given, at, source);
  const joined = joinedPage({ plan, source, position }, given, last.page);
  if ('retryFrom' in joined && repeated === 'no') return goBack(reading, joined);
  const { page, isExact, gaps: joints } = 'page' in joined ? joined : { page: given, isExact: false, gaps: [] };
  last.page = given;
  // A page requested from further back has values below those already read.
  const place = isExact || !isMovable(source) ? position : { ...position, lastSeen: null };
  const seen = cursor ? await readCursors(page.records, cursor, place) : withoutCursors(page.records);
  const following = repeated !== 'no' || seen.isBelow ? null : page.next;
  if (following === null) ahead.drop();
  const isLast = following === null;
  const edges = await movedEdges({ plan, source, position, page, request, isLast, look, looksAtOnce });
  if (edges !== null && edges !== 'moved') return goBack(reading, edges);
  if (following !== null) ahead.prefetch({ request, page: given, next: following });
  const job = following === null ? nextPart(position.job, report?.parts ?? null) : null;
  const next = job ? firstPageLike(plan.firstPage, position.page) : following;
  const { serverDate, token } = page;
  const { pagination } = source.resource;
  const placed = { page, position, pagination, repeated, cursor, isExact };
  const isIncomplete = report?.isIncomplete ?? false;
  const found = at.gaps ?? pageGaps({ ...placed, isCut: seen.endsBelow, isIncomplete });
  const gaps = withGaps(withGaps(joints, edges === 'moved' ? ['list_moved'] : []), found);
  // Below the cap, records that contradict the count would contradict that of each half, too.
  if (following === null && cursor && isAtCap(page.counted, cursor) && gaps.includes('count_differs'))
    return { retryFrom: splitWindow(begunAgain(plan, position), cursor, page.counted ?? 0), note: 'window_split' };
  const facts = {
    ...{ cursors: seen.cursors, next, guard: job ? noPages : guard.state(), serverDate, token },
    ...{ rises: seen.rises, isUnlisted: !isUnchanged && !isListed(gaps), isContradicted: isContradicted(gaps) },
  };
  const moved = advance(plan, place, facts);
  const after = moved.position && { ...moved.position, ...(job && { job }) };
  const value = cursor ? valueBefore(seen.cursors, cursor) : null;
  // Another page may follow a full one later, while this one stays unchanged.
  const isFull =
    given.count >=
    (position.page.size ?? ('size' in pagination ? pagination.size : undefined) ?? Number.POSITIVE_INFINITY);
  const isWhole = page.next === null && repeated === 'no' && moved.position === null && !isFull;
  const notes: readonly (ReadNote | Gap | false | undefined)[] = [
    moved.orderBroken && 'order_broken',
    repeated !== 'no' && 'page_repeated',
    seen.withoutCursor > 0 && 'cursor_missing',
    isApart(plan, position, { serverDate, now: source.now() }) && 'clock_apart',
    // Tells readers of the run why a watermark stays.
    plan.kind !== 'full' && (facts.isUnlisted || facts.isContradicted) && gaps.find((gap) => gap !== 'not_modified'),
  ];
  return {
    bodyBytes: page.bodyBytes,
    read: {
      pageNo: position.pagesRead + 1,
      records: seen.records,
      positionAfter: after && following !== null ? listed(source, { ...placed, after }, value) : after,
      watermarkAfter: moved.watermark,
      requestKey: page.requestKey,
      validators:
        position.pagesRead === 0 && isListed(gaps) ? keptValidators(source, page.validators, { isWhole }) : null,
      notModified: false,
      gaps,
      readAt: moved.readAt,
      again: position.again === true,
      isFromBeginning: plan.start === null,
      skipped: null,
      notes: notes.filter((note) => note !== false && note !== undefined),
    },
  };
}

/** The next page is not the one after the last page that was read. */
function goBack({ last }: Stepping, back: ReadBack): ReadBack {
  last.page = null;
  return back;
}

interface ListedPage {
  readonly page: RecordsPage;
  readonly position: ReadPosition;
  readonly after: ReadPosition;
  readonly isExact: boolean;
}

function listed(source: Source, { page, position, after, isExact }: ListedPage, value: string | null): ReadPosition {
  const { read: _read, trail: _trail, ...rest } = after;
  const read = isExact ? itemsRead(position, page) : undefined;
  const { pagination } = source.resource;
  const isLoose = pagination.kind === 'page' || page.next?.overlap === undefined;
  const trail = isMovable(source) ? trailBehind(page, position, { value, isLoose }) : undefined;
  return { ...rest, ...(read !== undefined && { read }), ...(trail && { trail }) };
}

/** A page by offset that shares nothing with the one before, also where an earlier version of the service has read that. */
function withLooseness(source: Source, position: ReadPosition): ReadPosition {
  const { trail, page } = position;
  const sharesNothing = page.index > 1 && page.overlap === undefined && trail !== undefined && trail.back === 0;
  return sharesNothing && isMovable(source) ? { ...position, trail: { ...trail, isLoose: true } } : position;
}

export const skippedRead = (position: ReadPosition, page: Extract<Page, { readonly kind: 'skipped' }>): PageRead => ({
  pageNo: position.pagesRead + 1,
  records: [],
  positionAfter: null,
  watermarkAfter: position.claim,
  requestKey: page.requestKey,
  validators: null,
  notModified: false,
  gaps: ['partition_skipped'],
  readAt: null,
  again: false,
  isFromBeginning: false,
  skipped: page.reason,
  notes: [],
});

const withoutCursors = (records: readonly unknown[]): CursorPage => ({ ...noCursors, records });
