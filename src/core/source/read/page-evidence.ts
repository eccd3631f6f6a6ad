import type { Gap, Gaps } from '../../model/coverage.ts';
import type { CursorPlan, ReadPosition } from '../../model/read-position.ts';
import type { Pagination } from '../../spec/schema/pagination-schema.ts';
import type { PageRecords } from './page-records.ts';
import type { Repetition } from './repeated-page.ts';
import { isAtCap } from './window-bounds.ts';

interface PlacedPage {
  readonly page: PageRecords;
  readonly position: ReadPosition;
  readonly pagination: Pagination;
  readonly repeated: Repetition;
  /** No further page of the window is requested, although the API may have one. */
  readonly isCut: boolean;
  /** The parts of its report are missing. */
  readonly isIncomplete: boolean;
  readonly isExact: boolean;
  readonly cursor: Pick<CursorPlan, 'resultCap'> | null;
}

/** Items of the window up to the end of the page, or `undefined` if unknown. */
export function itemsRead({ read, page: { index } }: ReadPosition, { count }: PageRecords): number | undefined {
  const before = index === 1 ? 0 : read;
  return before === undefined ? undefined : before + count;
}

export function pageGaps(placed: PlacedPage): Gaps {
  const { page, repeated } = placed;
  const gaps: readonly (Gap | false)[] = [
    page.recordsMissing && 'list_missing',
    placed.isIncomplete && 'report_incomplete',
    repeated === 'unproved' && 'page_repeated',
    (page.isCutOff || contradictsCount(placed)) && 'count_differs',
  ];
  return gaps.filter((gap) => gap !== false);
}

/**
 * Contradictions are a page that is empty before the counted end, and a window that ends with fewer items. With
 * `stopWhen` a window ends where the spec wants it, and a count at the API's cap may really be higher.
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

/** Whether records of the window may have been skipped, so that it claims no watermark. */
export const isContradicted = (gaps: Gaps): boolean => gaps.some((gap) => contradictions.includes(gap));
