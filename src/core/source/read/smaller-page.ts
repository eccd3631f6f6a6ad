import type { PagePosition } from '../../model/read-position.ts';
import type { Pagination, Shrink } from '../../spec/schema/pagination-schema.ts';

/** `null` if the page may not shrink, or is as small as the rule allows. */
export function shrinkRule(pagination: Pagination, position: Pick<PagePosition, 'size'>): Shrink | null {
  if (!('shrink' in pagination) || pagination.shrink === undefined) return null;
  return (position.size ?? pagination.size ?? 0) > pagination.shrink.min ? pagination.shrink : null;
}

/**
 * Offsets, tokens and keys mean the same with every size; page n becomes page 2n of half the size, counted from 0. That
 * is exact because the validator accepts only sizes that are `min` doubled.
 */
export function smallerPage(pagination: Pagination, position: PagePosition): PagePosition {
  const rule = shrinkRule(pagination, position);
  const size = position.size ?? pagination.size;
  if (rule === null || size === undefined) return position;
  const half = Math.max(rule.min, Math.floor(size / 2));
  const number = pagination.kind === 'page' ? pagination.start + 2 * (position.number - pagination.start) : null;
  const smaller = { ...position, ...(number === null ? {} : { number }), size: half };
  const { overlap = 0, ...rest } = smaller;
  // A page that is all overlap has nothing new.
  return overlap < half ? smaller : { ...rest, offset: position.offset + overlap };
}

/** The first page of another window, with the size to which pages have shrunk. */
export const firstPageLike = (first: PagePosition, { size }: Pick<PagePosition, 'size'>): PagePosition =>
  size === undefined ? first : { ...first, size };
