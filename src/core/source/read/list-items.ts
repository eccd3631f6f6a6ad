import { compilePlainPath } from '../../expressions/plain-path.ts';
import { starredPath } from '../../json/starred-path.ts';
import type { Pagination } from '../../spec/schema/pagination-schema.ts';
import type { Source } from '../source.ts';

interface KeyedList {
  readonly records: string;
  /** Expression over an item that identifies it. */
  readonly key: string;
  readonly pagination: Pagination;
}

/**
 * Pages of a list without a primary key follow each other by the path that identifies its items. Without a path nothing
 * is compared, as other values may differ in each request, such as a signed address.
 */
export function followedBy({
  records,
  key,
  pagination,
}: KeyedList): Pick<Source, 'itemKey'> & Pick<KeyedList, 'pagination'> {
  const itemKey = starredPath(records) === null ? compilePlainPath(key) : null;
  if (itemKey !== null) return { itemKey, pagination };
  return { pagination: 'stable' in pagination ? { ...pagination, stable: true } : pagination };
}
