/**
 * Handles a list that moves while it is read: the read goes back until its pages follow each other again, a few times
 * at most. Otherwise it reports a gap.
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

export interface ReadBack {
  readonly retryFrom: ReadPosition;
  /** `null` if only one page was requested again. */
  readonly note: ReadNote | null;
}

export interface JoinedPage {
  /** Without the items shared with the page before. */
  readonly page: RecordsPage;
  readonly gaps: Gaps;
  /** Whether all items are new in the window. */
  readonly isExact: boolean;
}

interface Place {
  readonly plan: ReadPlan;
  readonly source: Source;
  readonly position: ReadPosition;
}

/** Times that a window is read anew because its list moved. */
const movesMax = 3;

/** Up to this page, a list with earlier insertions is read anew from its first page. */
const anewPagesMax = 32;

/** Whether a skipped record stays missing beyond the next run. */
const missesForLong = ({ resource, provesEnd }: Source): boolean =>
  resource.incremental !== undefined || provesEnd === true;

/** `before` is `null` if another process has read the page before. */
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
      // A record that moves to a page already read has changed, so its cursor is newer than the run.
      if (plan.kind !== 'full') return { ...moved, gaps: [] };
      return mayBegin && position.page.index <= anewPagesMax ? fromBegin(plan, position) : moved;
  }
}

function fromBegin(plan: ReadPlan, position: ReadPosition): ReadBack {
  const { trail: _trail, read: _read, ...rest } = begunAgain(plan, position);
  return { retryFrom: { ...rest, moves: (rest.moves ?? 0) + 1 }, note: 'window_restarted' };
}

interface LookedAt extends Place {
  readonly page: RecordsPage;
  readonly request: PageRequest;
  readonly isLast: boolean;
  readonly look: (request: PageRequest) => Promise<Page>;
  readonly looksAtOnce: number;
}

/**
 * Checks the ends of earlier pages again, after the last page and where the API counts fewer items; `null` if none has
 * moved.
 */
export async function movedEdges(at: LookedAt): Promise<ReadBack | 'moved' | null> {
  const { source, position, page, isLast } = at;
  const { trail, moves = 0 } = position;
  const isLoose = source.resource.pagination.kind === 'page' || trail?.isLoose === true;
  if (!isLoose || !isMovable(source) || !missesForLong(source)) return null;
  if (position.page.index === 1 || trail === undefined || trail.edges.length === 0) return null;
  const isFewer = trail.total !== null && page.counted !== null && page.counted < trail.total;
  if (!isLast && !(isFewer && (await firstMoved(at, trail.edges.slice(-1))) === 0)) return null;
  // Nothing after a short page could have slipped.
  const first = await firstMoved(at, position.page.isProbe ? trail.edges.slice(0, -1) : trail.edges);
  if (first === -1) return null;
  const good = trail.edges[first - 1];
  if (good === undefined) return moves < movesMax ? fromBegin(at.plan, position) : 'moved';
  return behind(at, trail, good) ?? 'moved';
}

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

/** Continues after the last page that has not moved, at the value reached there or at the next place. */
function behind({ plan, source, position }: LookedAt, trail: ListTrail, good: PageEdge): ReadBack | null {
  const { moves = 0 } = position;
  const { read: _read, trail: _trail, ...rest } = position;
  const begun = { ...rest, guard: noPages, lastSeen: null, claim: position.base, moves: moves + 1 };
  const { value } = good;
  if (value !== null && plan.cursor && canBeginAt(plan.cursor, position, source) && value !== position.from) {
    // Each time less is left to read, so a wide bound is enough.
    if (moves >= 10 * movesMax) return null;
    const retryFrom: ReadPosition = { ...begun, from: value, isAnew: true, maxSeen: value, page: plan.firstPage };
    return { retryFrom, note: 'window_restarted' };
  }
  if (moves >= movesMax) return null;
  const { overlap: _, ...at } = good.page;
  const { index, number, offset } = at;
  const { pagination } = source.resource;
  const moved = pagination.kind === 'offset' ? (at.size ?? pagination.size) : 0;
  const page = { ...at, index: index + 1, number: number + 1, offset: offset + moved };
  const edges = trail.edges.filter((edge) => edge.page.index <= index);
  const retryFrom: ReadPosition = {
    ...begun,
    page,
    trail: { ...trail, tail: good.mark === null ? good.before : [...good.before, good.mark], edges, total: null },
    // The claim of an ascending list follows from the pages that are read now.
    maxSeen: plan.cursor?.order === 'asc' ? null : position.maxSeen,
  };
  return { retryFrom, note: 'window_restarted' };
}

/** Whether a request can start at a value and then returns nothing below it. */
function canBeginAt(cursor: CursorPlan, { from, ordered }: ReadPosition, { resource }: Source): boolean {
  const { order, window, clientFilter, missing, field } = cursor;
  if (order !== 'asc' || !ordered || window !== null || clientFilter || field === null) return false;
  // Records without a value match no lower bound.
  if (missing === 'include' && from === null) return false;
  return /\b(?:window\.from|watermark)\b/.test(JSON.stringify(resource.request));
}

/** The greatest value below the page's last one, as canonical text, or `null`. */
export function valueBefore(values: readonly CursorValue[], { order, form }: CursorPlan): string | null {
  const last = values.at(-1);
  if (order !== 'asc' || last === undefined) return null;
  const before = values.findLast((value) => compareCursors(value, last) < 0);
  return before === undefined ? null : cursorText(before, form);
}
