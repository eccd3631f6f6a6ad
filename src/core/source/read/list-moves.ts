/**
 * What a read does when the list that it reads has moved: it goes back until the pages follow each other again, at most a
 * few times, and otherwise says so.
 */

import type { Gaps } from '../../model/coverage.ts';
import type { CursorPlan, ListTrail, PageEdge, ReadPlan, ReadPosition } from '../../model/read-position.ts';
import type { ReadNote } from '../../model/run-notes.ts';
import { type CursorValue, compareCursors, cursorText } from '../cursor/cursor-value.ts';
import type { Source } from '../source.ts';
import type { Page, PageRequest } from './fetch-page.ts';
import { endsAt, furtherBack, jointOf, withoutShared } from './list-trail.ts';
import { isMovable } from './movable.ts';
import { noPages } from './page-guard.ts';
import { begunAgain } from './read-window.ts';

type RecordsPage = Extract<Page, { kind: 'records' }>;

/** Where the read goes on instead, and what a reader of the run is told. */
export interface ReadBack {
  readonly retryFrom: ReadPosition;
  /** Null: nothing, as only one page was requested again. */
  readonly note: ReadNote | null;
}

/** A page that follows the one before it, as far as that is known. */
export interface JoinedPage {
  /** The page without what it shares with the one before. */
  readonly page: RecordsPage;
  readonly gaps: Gaps;
  /** Whether all of its items are new ones of the window. */
  readonly isExact: boolean;
}

/** What is known where a page is joined to the read. */
interface Place {
  readonly plan: ReadPlan;
  readonly source: Source;
  readonly position: ReadPosition;
}

/** Times that a window is read anew because its list moved. */
const movesMax = 3;

/** Pages up to which a list is read anew from its first page where something came in before. */
const anewPagesMax = 32;

/** Whether a record that is passed over is missed for longer than until the next run. */
const missesForLong = ({ resource, provesEnd }: Source): boolean =>
  resource.incremental !== undefined || provesEnd === true;

/** Joins a page to the read; `before` is the page before it, null: another process has read that. */
export function joinedPage(place: Place, page: RecordsPage, before: RecordsPage | null): JoinedPage | ReadBack {
  const { plan, source, position } = place;
  const { pagination } = source.resource;
  if (!isMovable(source)) return { page, gaps: [], isExact: position.page.overlap === undefined };
  const mayBegin = missesForLong(source) && (position.moves ?? 0) < movesMax;
  const moved: JoinedPage = { page, gaps: ['list_moved'], isExact: false };
  switch (jointOf(page, position, before)) {
    case 'joined': {
      const isExact = (position.trail?.back ?? 0) === 0;
      const isDeclared = pagination.kind === 'offset' && (pagination.overlap ?? 0) > 0;
      if (!isExact) return { page, gaps: [], isExact };
      return { page: { ...page, ...withoutShared(page, position.page, isDeclared) }, gaps: [], isExact };
    }
    case 'parted': {
      const { size = 1, start = 0 } = pagination.kind === 'offset' ? pagination : {};
      const retryFrom = furtherBack(position, { size, start });
      if (retryFrom !== null) return { retryFrom, note: null };
      return mayBegin ? fromBegin(plan, position) : moved;
    }
    case 'shifted':
      // What moves to a page that was read has changed, so its cursor is newer than the run.
      if (plan.kind !== 'full') return { ...moved, gaps: [] };
      return mayBegin && position.page.index <= anewPagesMax ? fromBegin(plan, position) : moved;
  }
}

function fromBegin(plan: ReadPlan, position: ReadPosition): ReadBack {
  const { trail: _trail, read: _read, ...rest } = begunAgain(plan, position);
  return { retryFrom: { ...rest, moves: (rest.moves ?? 0) + 1 }, note: 'window_restarted' };
}

/** A numbered page, and how an earlier one is requested again. */
interface LookedAt extends Place {
  readonly page: RecordsPage;
  readonly request: PageRequest;
  /** Whether the window ends with it. */
  readonly isLast: boolean;
  readonly look: (request: PageRequest) => Promise<Page>;
  /** Requests at once. */
  readonly looksAtOnce: number;
}

/**
 * Looks again at the ends of pages that were read, behind the last page and where the API counts fewer items than before.
 * Null: they are where they were.
 */
export async function movedEdges(at: LookedAt): Promise<ReadBack | 'moved' | null> {
  const { source, position, page, isLast } = at;
  const { trail, moves = 0 } = position;
  if (source.resource.pagination.kind !== 'page' || !isMovable(source) || !missesForLong(source)) return null;
  if (position.page.index === 1 || trail === undefined || trail.edges.length === 0) return null;
  const isFewer = trail.total !== null && page.counted !== null && page.counted < trail.total;
  if (!isLast && !(isFewer && (await firstMoved(at, trail.edges.slice(-1))) === 0)) return null;
  // Behind a short page was nothing that could have slipped.
  const first = await firstMoved(at, position.page.isProbe ? trail.edges.slice(0, -1) : trail.edges);
  if (first === -1) return null;
  const good = trail.edges[first - 1];
  if (good === undefined) return moves < movesMax ? fromBegin(at.plan, position) : 'moved';
  return behind(at, trail, good) ?? 'moved';
}

/** The index of the first page whose end is no longer where it was; -1: all are. */
async function firstMoved(at: LookedAt, edges: readonly PageEdge[]): Promise<number> {
  const { request, look, looksAtOnce } = at;
  const holds = async (edge: PageEdge): Promise<boolean> => {
    const page = await look({ ...request, position: edge.page });
    return page.kind === 'empty' ? page.notModified : page.kind === 'records' && endsAt(page, edge);
  };
  for (let from = 0; from < edges.length; from += looksAtOnce) {
    const held = await Promise.all(edges.slice(from, from + looksAtOnce).map(holds));
    const first = held.indexOf(false);
    if (first !== -1) return from + first;
  }
  return -1;
}

/** Behind a page up to which the list has not moved: at the value that was reached there, or at the next number. */
function behind({ plan, source, position }: LookedAt, trail: ListTrail, good: PageEdge): ReadBack | null {
  const { moves = 0 } = position;
  const { read: _read, trail: _trail, ...rest } = position;
  const begun = { ...rest, guard: noPages, lastSeen: null, claim: position.base, moves: moves + 1 };
  const { value } = good;
  if (value !== null && plan.cursor && canBeginAt(plan.cursor, position, source) && value !== position.from) {
    // Each time less is left to read, so that the number of times needs no narrow bound.
    if (moves >= 10 * movesMax) return null;
    const retryFrom: ReadPosition = { ...begun, from: value, isAnew: true, maxSeen: value, page: plan.firstPage };
    return { retryFrom, note: 'window_restarted' };
  }
  if (moves >= movesMax) return null;
  const { index, number } = good.page;
  const page = { ...good.page, index: index + 1, number: number + 1 };
  const edges = trail.edges.filter((edge) => edge.page.index <= index);
  const retryFrom: ReadPosition = {
    ...begun,
    page,
    trail: { ...trail, tail: [...good.before, good.mark], edges, total: null },
    // Of an ascending list what is claimed follows from the pages that are read now.
    maxSeen: plan.cursor?.order === 'asc' ? null : position.maxSeen,
  };
  return { retryFrom, note: 'window_restarted' };
}

/** Whether the API can be asked for what comes from a value on, and gives nothing else. */
function canBeginAt(cursor: CursorPlan, { from, ordered }: ReadPosition, { resource }: Source): boolean {
  const { order, window, clientFilter, missing, field } = cursor;
  if (order !== 'asc' || !ordered || window !== null || clientFilter || field === null) return false;
  // Records without a value match no lower bound.
  if (missing === 'include' && from === null) return false;
  return /\b(?:window\.from|watermark)\b/.test(JSON.stringify(resource.request));
}

/** The greatest of a page's values that is less than its last one, canonical text; null: none is. */
export function valueBefore(values: readonly CursorValue[], { order, form }: CursorPlan): string | null {
  const last = values.at(-1);
  if (order !== 'asc' || last === undefined) return null;
  const before = values.findLast((value) => compareCursors(value, last) < 0);
  return before === undefined ? null : cursorText(before, form);
}
