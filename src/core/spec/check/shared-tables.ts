/**
 * Two resources on one table. A row belongs to the resource that inserts it: mode update fills columns of rows that are
 * there, and cannot delete them. A version that was published before this rule existed is still run; a deletion then
 * leaves the columns of the resource null.
 */
import { type Issue, issueIf } from '../../errors.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { valuesAt } from './document-paths.ts';

/** Rules for a version that is not published yet. */
export function checkSharedTables(document: unknown): readonly Issue[] {
  return valuesAt(document, 'resources.*').flatMap(({ path, value }) => {
    if (!isJsonObject(value) || !isJsonObject(value['target']) || !isJsonObject(value['deletes'])) return [];
    const { mode = 'none' } = value['deletes'];
    return issueIf(
      value['target']['mode'] === 'update' && mode !== 'none',
      `${path}.deletes.mode`,
      'a resource of mode update deletes no rows, because they belong to the resource that inserts them: give that one the deletes, or give this one a table of its own with mode upsert',
    );
  });
}
