/**
 * Checks whether pages, which are places and not items, follow each other: when a record leaves, the next one slips
 * onto an earlier page. So an offset begins at the last item of the page before, which must be there again. Page
 * numbers cannot overlap, nor offsets behind a page from which the API has left items out: the ends of such pages are
 * checked again after the last one (`list-moves.ts`).
 */

import type { ListTrail, PageEdge, PagePosition, ReadPosition } from '../../model/read-position.ts';
import { pageKey } from './page-guard.ts';
import type { PageRecords } from './page-records.ts';

/** Items remembered to find the end of a page again even if its last item has left. */
const tailMax = 5;

/** Page ends that are checked again after the last page. */
const edgesMax = 16;

/** Requests for one page, each from further back, before the window is read anew. */
const backMax = 2;

/**
 * Relation to the page before: `joined` by shared items, or as nothing contradicts it; `shifted`, it repeats items
 * after an insertion; `parted`, items in between may be missing.
 */
export type Joint = 'joined' | 'shifted' | 'parted';

/** `before` is the page before, if this process has read it. */
export function jointOf(
  page: PageRecords,
  { page: { overlap = 0, index }, trail }: Pick<ReadPosition, 'page' | 'trail'>,
  before: PageRecords | null,
): Joint {
  if (index === 1 || trail === undefined || trail.tail.length === 0) return 'joined';
  const { tail, back } = trail;
  const marks = (from: number, to: number) => indexes(from, to).map((no) => pageKey(page.keyAt(no)));
  if (back > 0) return marks(0, page.count).some((mark) => tail.includes(mark)) ? 'joined' : 'parted';
  if (overlap === 0) return page.count > 0 && hasItemsOf(page, before, tail) ? 'shifted' : 'joined';
  const shared = tail.slice(-overlap);
  const first = marks(0, Math.min(overlap, page.count));
  // Only the last items of a longer overlap are remembered.
  const expected = tail.length < tailMax ? shared.length : overlap;
  const last = first.slice(first.length - shared.length);
  if (first.length === expected && shared.every((mark, no) => mark === last[no])) return 'joined';
  return first[0] !== undefined && tail.includes(first[0]) ? 'shifted' : 'parted';
}

const indexes = (from: number, to: number): readonly number[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, no) => from + no);

/** Whether the first or last item was on the page before: one was, unless more was inserted than two pages hold. */
function hasItemsOf(page: PageRecords, before: PageRecords | null, tail: readonly string[]): boolean {
  const keys = [page.keyAt(0), page.keyAt(page.count - 1)];
  if (before === null) return keys.some((key) => tail.includes(pageKey(key)));
  return indexes(0, before.count).some((no) => keys.includes(before.keyAt(no)));
}

/** Whether a page ends where it did, by several items: the last one alone may have left and returned. */
export function endsAt(page: PageRecords, { before, mark }: PageEdge): boolean {
  if (mark === null) return page.count === 0;
  const marks = [...before, mark].slice(-page.count);
  const first = page.count - marks.length;
  return page.count > 0 && marks.every((one, no) => pageKey(page.keyAt(first + no)) === one);
}

/** Goes back by one page and then by two more; `null` if that was tried or nothing precedes it. */
export function furtherBack(
  position: ReadPosition,
  { size, start }: { readonly size: number; readonly start: number },
): ReadPosition | null {
  const { page, trail } = position;
  if (trail === undefined || trail.back >= backMax) return null;
  // The page parted here before, so going back again is useless.
  if (trail.back === 0 && page.offset <= (trail.partedAt ?? -1)) return null;
  const { overlap: _, ...place } = page;
  const by = (page.size ?? size) * (trail.back + 1);
  const offset = Math.max(start, page.offset - by);
  return offset === page.offset
    ? null
    : {
        ...position,
        page: { ...place, offset },
        trail: { ...trail, back: trail.back + 1, ...(trail.back === 0 && { partedAt: page.offset }) },
      };
}

export function withoutShared(page: PageRecords, { overlap = 0 }: PagePosition, isDeclared: boolean): PageRecords {
  if (overlap === 0) return page;
  // Items that a spec rereads may be newer now.
  const records = page.isFlat && !isDeclared ? page.records.slice(overlap) : page.records;
  return { ...page, records, count: page.count - overlap, keyAt: (no) => page.keyAt(no + overlap) };
}

export function trailBehind(
  page: PageRecords,
  { page: place, trail }: Pick<ReadPosition, 'page' | 'trail'>,
  { value, isLoose }: { readonly value: string | null; readonly isLoose: boolean },
): ListTrail {
  const isFirst = place.index === 1 || trail === undefined;
  const before = isFirst ? { tail: [], edges: [], stride: 1 } : trail;
  const own = indexes(Math.max(0, page.count - tailMax), page.count).map((no) => pageKey(page.keyAt(no)));
  const tail = [...before.tail, ...own].slice(-tailMax);
  // A page that only shares its items with the one before ends with one of them.
  const isEmpty = page.count === 0 && place.overlap === undefined;
  const mark = isEmpty ? null : (tail.at(-1) ?? null);
  const { isProbe: _, ...at } = place;
  // The page before stays only if it is one of those that are spread over all pages.
  const kept = before.edges.filter(({ page: { index } }) => index % before.stride === 0);
  const edges = isLoose
    ? [...kept, { page: at, before: tail.slice(0, isEmpty ? tail.length : -1), mark, value }]
    : before.edges;
  const isFull = edges.length > edgesMax;
  const stride = isFull ? 2 * before.stride : before.stride;
  return {
    tail,
    edges: isFull ? edges.filter(({ page: { index } }, no) => index % stride === 0 || no === edges.length - 1) : edges,
    stride,
    total: page.counted,
    back: 0,
    ...(!isFirst && trail.partedAt !== undefined && { partedAt: trail.partedAt }),
    ...((isLoose || (!isFirst && trail.isLoose)) && { isLoose: true as const }),
  };
}
