import type { Pagination } from '../../spec/schema/pagination-schema.ts';
import type { Source } from '../source.ts';

/** A finished report does not move. */
export const isMovable = ({ resource: { pagination, job } }: Pick<Source, 'resource'>): boolean =>
  (pagination.kind === 'page' || pagination.kind === 'offset') && !pagination.stable && job === undefined;

/**
 * Whether the place of a page does not depend on the items of the one before, as the API may leave items out. Then pages
 * share no items, and only their ends, looked at again, tell whether the list has moved.
 */
export const isNumbered = (pagination: Pagination): boolean =>
  pagination.kind === 'page' ||
  (pagination.kind === 'offset' && pagination.step === 'size' && (pagination.overlap ?? 0) === 0);
