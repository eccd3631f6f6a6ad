import type { Session } from './driver/session.ts';

/** As far as the catalog shows them. */
export interface TableRules {
  readonly uniques: readonly UniqueRule[];
  readonly references: readonly ReferenceRule[];
  readonly checks: readonly CheckRule[];
}

/** Covers all rows. */
export interface UniqueRule {
  readonly name: string;
  readonly isConstraint: boolean;
  readonly columns: readonly string[];
}

export interface ReferenceRule {
  readonly name: string;
  readonly schema: string;
  readonly table: string;
  /** Each column with the one that it refers to. */
  readonly pairs: readonly (readonly [string, string])[];
}

export interface CheckRule {
  readonly name: string;
  readonly definition: string;
}

/** Leaves out rules that the user may not see. */
export async function readTableRules(
  session: Session,
  { schema, table }: { readonly schema: string; readonly table: string },
): Promise<TableRules> {
  const named = { table: `${schema}.${table}` };
  const uniques = await session.query<UniqueColumn>(uniquesSql, named);
  const references = await session.query<ReferenceColumn>(referencesSql, named);
  const checks = await session.query<{ name: string; definition: string | null }>(checksSql, named);
  return {
    uniques: [...Map.groupBy(uniques, ({ indexId }) => indexId).values()].flatMap(uniqueOf),
    references: [...Map.groupBy(references, ({ keyId }) => keyId).values()].flatMap(referenceOf),
    checks: checks.flatMap(({ name, definition }) => (definition === null ? [] : [{ name, definition }])),
  };
}

interface UniqueColumn {
  readonly indexId: number;
  readonly name: string;
  readonly isConstraint: number;
  readonly columnName: string;
}

interface ReferenceColumn {
  readonly keyId: number;
  readonly name: string;
  readonly schemaName: string;
  readonly tableName: string;
  readonly columnName: string;
  readonly referredName: string;
}

function uniqueOf(found: readonly UniqueColumn[]): UniqueRule[] {
  const [first] = found;
  if (!first) return [];
  const columns = found.map(({ columnName }) => columnName);
  return [{ name: first.name, isConstraint: first.isConstraint === 1, columns }];
}

function referenceOf(found: readonly ReferenceColumn[]): ReferenceRule[] {
  const [first] = found;
  if (!first) return [];
  const pairs = found.map(({ columnName, referredName }): readonly [string, string] => [columnName, referredName]);
  return [{ name: first.name, schema: first.schemaName, table: first.tableName, pairs }];
}

const uniquesSql = `
  select cast(i.index_id as int) as index_id, i.name as name, c.name as column_name,
    case when i.is_primary_key = 1 or i.is_unique_constraint = 1 then 1 else 0 end as is_constraint
  from sys.indexes as i
    inner join sys.index_columns as k on k.object_id = i.object_id and k.index_id = i.index_id
    inner join sys.columns as c on c.object_id = k.object_id and c.column_id = k.column_id
  where i.object_id = object_id(@table) and i.is_unique = 1 and i.is_disabled = 0 and i.has_filter = 0
    and i.ignore_dup_key = 0 and k.is_included_column = 0;`;

/** Excludes references of the table to itself: rows of one batch may refer to each other, so the trials check them. */
const referencesSql = `
  select cast(f.object_id as int) as key_id, f.name as name, s.name as schema_name, o.name as table_name,
    c.name as column_name, p.name as referred_name
  from sys.foreign_keys as f
    inner join sys.foreign_key_columns as k on k.constraint_object_id = f.object_id
    inner join sys.columns as c on c.object_id = k.parent_object_id and c.column_id = k.parent_column_id
    inner join sys.columns as p on p.object_id = k.referenced_object_id and p.column_id = k.referenced_column_id
    inner join sys.objects as o on o.object_id = f.referenced_object_id
    inner join sys.schemas as s on s.schema_id = o.schema_id
  where f.parent_object_id = object_id(@table) and f.referenced_object_id <> object_id(@table) and f.is_disabled = 0;`;

const checksSql = `
  select c.name as name, c.definition as definition from sys.check_constraints as c
  where c.parent_object_id = object_id(@table) and c.is_disabled = 0;`;
