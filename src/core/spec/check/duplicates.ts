import type { Issue, IssueCode } from '../../errors.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { defaultTable } from '../schema/resource-schema.ts';
import { listIn } from './declared-names.ts';
import { type Located, valuesAt } from './document-paths.ts';

/** Checks that names are unique where required; the later of two carries the issue. */
export function checkDuplicates(document: unknown): readonly Issue[] {
  const tables = valuesAt(document, 'lookups.*.assignTo');
  const issues = [
    ...repeated('duplicate_key', 'connection param', valuesAt(document, 'connectionParams.*.key')),
    ...repeated('duplicate_key', 'resource', valuesAt(document, 'resources.*.key')),
    ...repeated('duplicate_key', 'table', writtenTables(document)),
    ...repeated('duplicate_assign_to', 'lookup', tables),
    ...listIn(document, 'resources').flatMap((_, index) => [
      ...repeated('duplicate_assign_to', 'enrichment or lookup', [
        ...tables.map((table) => ({ ...table, path: '' })),
        ...valuesAt(document, `resources.${index}.enrich.*.assignTo`),
      ]),
      ...repeated('duplicate_assign_to', 'partition', valuesAt(document, `resources.${index}.forEach.*.as`)),
    ]),
  ];
  // Two resources with one key also share a default table: that is one issue.
  return issues.filter(({ path }, index) => issues.findIndex((issue) => issue.path === path) === index);
}

/** A name with an empty path was checked elsewhere; here it only counts as used. */
function repeated(code: IssueCode, what: string, names: readonly Located[]): readonly Issue[] {
  const taken = new Set<unknown>();
  return names.flatMap(({ path, value }) => {
    const isRepeated = taken.has(value);
    taken.add(value);
    if (!isRepeated || path === '' || typeof value !== 'string') return [];
    return [{ code, path, message: `\`${value}\` is already the name of another ${what}; choose another` }];
  });
}

/** One entry per resource that owns a table; mode `update` adds to a table that another resource writes. */
function writtenTables(document: unknown): readonly Located[] {
  return valuesAt(document, 'resources.*').flatMap(({ path, value }) => {
    if (!isJsonObject(value)) return [];
    const target = isJsonObject(value['target']) ? value['target'] : {};
    const { table, schema, mode } = target;
    if (mode === 'update') return [];
    if (typeof table === 'string') return [{ path: `${path}.target.table`, value: tableId(schema, table) }];
    const { key } = value;
    return typeof key === 'string' ? [{ path: `${path}.key`, value: tableId(schema, defaultTable(key)) }] : [];
  });
}

/** Case is ignored: SQL Server folds it, and so does any unquoted name. */
const tableId = (schema: unknown, table: string): string =>
  (typeof schema === 'string' ? `${schema}.${table}` : table).toLowerCase();
