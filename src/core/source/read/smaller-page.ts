import type { PagePosition } from '../../model/read-position.ts';
import type { Pagination, Shrink } from '../../spec/schema/pagination-schema.ts';

/** The rule by which the page at a position may become smaller; null: it may not, or is as small as the rule allows. */
export function shrinkRule(pagination: Pagination, position: Pick<PagePosition, 'size'>): Shrink | null {
  if (!('shrink' in pagination) || pagination.shrink === undefined) return null;
  return (position.size ?? pagination.size ?? 0) > pagination.shrink.min ? pagination.shrink : null;
}

/**
 * The same position at half the page size, `min` at the least. Offsets, tokens and keys mean the same with every size.
 * A page number is converted: page n of a size is page 2n of half the size, counted from 0. That is exact because the
 * validator accepts only sizes that are `min` doubled.
 */
export function smallerPage(pagination: Pagination, position: PagePosition): PagePosition {
  const rule = shrinkRule(pagination, position);
  const size = position.size ?? pagination.size;
  if (rule === null || size === undefined) return position;
  const half = Math.max(rule.min, Math.floor(size / 2));
  const number = pagination.kind === 'page' ? pagination.start + 2 * (position.number - pagination.start) : null;
  const smaller = { ...position, ...(number === null ? {} : { number }), size: half };
  const { overlap = 0, ...rest } = smaller;
  // Nothing of a page that is all overlap would be new.
  return overlap < half ? smaller : { ...rest, offset: position.offset + overlap };
}

/** The first page of another window, of the size to which pages have shrunk. */
export const firstPageLike = (first: PagePosition, { size }: Pick<PagePosition, 'size'>): PagePosition =>
  size === undefined ? first : { ...first, size };
