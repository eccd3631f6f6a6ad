import { compilePlainPath } from '../../expressions/plain-path.ts';
import { starredPath } from '../../json/starred-path.ts';
import type { Pagination } from '../../spec/schema/pagination-schema.ts';
import type { Source } from '../source.ts';

/** A list whose items have no primary key. */
interface KeyedList {
  /** The path to its items in a response. */
  readonly records: string;
  /** What names an item, over the item. */
  readonly key: string;
  readonly pagination: Pagination;
}

/**
 * How the pages of a list without a primary key have to follow each other: by the path that names its items. Whatever else
 * an item has may be another with each request, such as a signed address, so that without a path nothing is compared.
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
