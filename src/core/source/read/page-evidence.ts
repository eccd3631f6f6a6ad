/** What a page says of the wholeness of its window. */

import type { Gap, Gaps } from '../../model/coverage.ts';
import type { CursorPlan, ReadPosition } from '../../model/read-position.ts';
import type { Pagination } from '../../spec/schema/pagination-schema.ts';
import type { PageRecords } from './page-records.ts';
import type { Repetition } from './repeated-page.ts';
import { isAtCap } from './window-bounds.ts';

/** A page at its place in the read. */
interface PlacedPage {
  readonly page: PageRecords;
  readonly position: ReadPosition;
  readonly pagination: Pagination;
  readonly repeated: Repetition;
  /** No further page of the window is requested, although the API may have one. */
  readonly isCut: boolean;
  /** The report that it is of lacks its parts. */
  readonly isIncomplete: boolean;
  /** Whether all items of the page are new ones of the window. */
  readonly isExact: boolean;
  /** Null: it is not read by a cursor. */
  readonly cursor: Pick<CursorPlan, 'resultCap'> | null;
}

/** Items of the window up to the end of the page; undefined: not known. */
export function itemsRead({ read, page: { index } }: ReadPosition, { count }: PageRecords): number | undefined {
  const before = index === 1 ? 0 : read;
  return before === undefined ? undefined : before + count;
}

/** The reasons that a page gives against the wholeness of its window. */
export function pageGaps(placed: PlacedPage): Gaps {
  const { page, repeated } = placed;
  const gaps: readonly (Gap | false)[] = [
    page.recordsMissing && 'list_missing',
    placed.isIncomplete && 'report_incomplete',
    repeated === 'unproved' && 'page_repeated',
    contradictsCount(placed) && 'count_differs',
  ];
  return gaps.filter((gap) => gap !== false);
}

/**
 * Whether the page contradicts the API's count: it is empty before the counted end, or the window ends with fewer items.
 * A window that ends by `stopWhen` ends where the spec wants it. A count that is the cap of the API may be more.
 */
function contradictsCount(placed: PlacedPage): boolean {
  const { page, position, pagination, repeated, isCut, cursor } = placed;
  const isCounted = page.counted !== null || Number.isFinite(page.pagesLeft);
  if (page.next !== null) return isCounted && page.count === 0;
  if (page.counted === null || isCut) return false;
  if (cursor && isAtCap(page.counted, cursor)) return true;
  const read = itemsRead(position, page);
  if (read === undefined || !placed.isExact || repeated !== 'no') return false;
  return pagination.stopWhen === undefined && read < page.counted;
}

const contradictions: readonly Gap[] = ['list_moved', 'count_differs', 'page_repeated', 'report_incomplete'];

/** Whether records of the window may have been passed over: then it claims no watermark. */
export const isContradicted = (gaps: Gaps): boolean => gaps.some((gap) => contradictions.includes(gap));
