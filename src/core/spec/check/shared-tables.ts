/**
 * On a table of two resources, a row belongs to the one that inserts it: mode update only fills columns of existing
 * rows and cannot delete them. Versions published before this rule still run; there, a deletion leaves the columns of
 * the resource null.
 */
import { type Issue, issueIf } from '../../errors.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { valuesAt } from './document-paths.ts';

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
