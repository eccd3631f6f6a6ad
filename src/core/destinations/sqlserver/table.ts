import { AppError } from '../../errors.ts';
import { quoted, shownName } from '../sql/identifiers.ts';
import type { Session } from './driver/session.ts';
import type { StoredType } from './values.ts';

export interface StoredColumn extends StoredType {
  readonly name: string;
  readonly nullable: boolean;
  readonly hasDefault: boolean;
  /** Identity, computed, row version, or period of a temporal table. */
  readonly generated: boolean;
  readonly evolved: boolean;
  readonly noted: boolean;
}

export interface StoredTable {
  readonly name: string;
  /** A recreated table has another id. */
  readonly id: number;
  readonly isView: boolean;
  /** An INSTEAD OF trigger replaces its inserts, updates or deletes. */
  readonly isDiverted: boolean;
  /** An enabled security policy hides rows of it. */
  readonly isFiltered: boolean;
  readonly columns: readonly StoredColumn[];
  readonly keys: readonly (readonly string[])[];
}

/** As the database words them. */
export interface StoredRules {
  readonly checks: readonly { readonly name: string; readonly definition: string }[];
  readonly defaults: readonly { readonly columnName: string; readonly definition: string }[];
}

/** The service's notes on columns that it created: the catalog knows no JSON, and Babelfish few comments. */
export const columnsTable = '_css_columns';

/** Leaves out missing tables; `null` if the schema is missing. */
export async function readTables(
  session: Session,
  { schema, names }: { readonly schema: string; readonly names: readonly string[] },
): Promise<ReadonlyMap<string, StoredTable> | null> {
  const wanted = Object.fromEntries([...names, columnsTable].map((name, index) => [`n${index}`, name]));
  const [place] = await session.query<{ id: number | null }>('select schema_id(@schema) as id;', { schema });
  if (place?.id == null) return null;
  const found = await session.query<FoundTable>(tablesSql(Object.keys(wanted)), { schema, ...wanted });
  const isNoted = found.some(({ name }) => name.toLowerCase() === columnsTable);
  const tables = new Map<string, StoredTable>();
  for (const name of names) {
    // The database decides whether case counts; the query has applied its rule.
    const table = found.find((candidate) => candidate.name.toLowerCase() === name.toLowerCase());
    if (table) tables.set(name, await readTable(session, { table, schema, isNoted }));
  }
  return tables;
}

interface FoundTable {
  readonly id: number;
  readonly name: string;
  readonly kind: string;
}

interface FoundColumn {
  readonly name: string;
  readonly typeName: string;
  /** Length in bytes; -1 for max. */
  readonly bytes: number;
  readonly totalDigits: number;
  readonly scale: number;
  readonly isNullable: number;
  readonly isGenerated: number;
  readonly hasDefault: number;
  /** `null` for a column that holds no text. */
  readonly collationName: string | null;
}

interface WrittenName {
  readonly writtenName: string;
}

interface InsteadTrigger {
  readonly insteadTrigger: string;
}

interface FilterPolicy {
  readonly filterPolicy: string;
}

async function readTable(
  session: Session,
  { table, schema, isNoted }: { readonly table: FoundTable; readonly schema: string; readonly isNoted: boolean },
): Promise<StoredTable> {
  const { id, name, kind } = table;
  const found = await session.query<FoundColumn | WrittenName | InsteadTrigger | FilterPolicy>(columnsSql, {
    id,
    schema,
    table: name,
  });
  const columns = withWrittenNames(
    found.flatMap((row) => ('insteadTrigger' in row || 'filterPolicy' in row ? [] : [row])),
  );
  const notes = isNoted ? await session.query<ColumnNote>(notesSql(schema), { id }) : [];
  const notesByName = new Map(notes.map((note) => [note.name, note]));
  const keyColumns = await session.query<{ indexId: number; name: string }>(keysSql, { id });
  const keys = Map.groupBy(keyColumns, ({ indexId }) => indexId);
  return {
    name,
    id,
    isView: kind.trim() === 'V',
    isDiverted: found.some((row) => 'insteadTrigger' in row),
    isFiltered: found.some((row) => 'filterPolicy' in row),
    columns: columns.map((column) => storedColumn(column, notesByName.get(column.name))),
    keys: [...keys.values()].map((key) => key.map((column) => column.name).sort()),
  };
}

/**
 * Babelfish keeps names in lower case, and their original case only in `information_schema`. A case-sensitive database has the
 * same name in both views.
 */
function withWrittenNames(found: readonly (FoundColumn | WrittenName)[]): readonly FoundColumn[] {
  const written = found.flatMap((row) => ('writtenName' in row ? [row.writtenName] : []));
  const exact = new Set(written);
  const byLowerCase = new Map(written.map((name) => [name.toLowerCase(), name]));
  const nameOf = (name: string) => (exact.has(name) ? name : (byLowerCase.get(name.toLowerCase()) ?? name));
  return found.flatMap((row) => ('writtenName' in row ? [] : [{ ...row, name: nameOf(row.name) }]));
}

interface ColumnNote {
  readonly name: string;
  readonly kind: string;
  readonly isEvolved: number;
}

function storedColumn(
  { name, typeName, bytes, totalDigits, scale, collationName, ...flags }: FoundColumn,
  note: ColumnNote | undefined,
): StoredColumn {
  if (!isDigits(totalDigits) || !isDigits(scale)) throw unlikeCatalog(name);
  const isUnicode = typeName === 'nvarchar' || typeName === 'nchar';
  return {
    name,
    typeName,
    length: isUnicode && bytes > 0 ? bytes / 2 : bytes,
    precision: totalDigits,
    scale,
    collation: knownCollation(collationName),
    isJson: note?.kind === 'json',
    nullable: flags.isNullable === 1,
    hasDefault: flags.hasDefault === 1,
    generated: flags.isGenerated === 1,
    evolved: note?.isEvolved === 1,
    noted: note !== undefined,
  };
}

/** Babelfish calls the database's own collation `default`. Only valid names become part of a statement. */
function knownCollation(name: string | null | undefined): string | null {
  if (!name || !/^\w{1,128}$/.test(name)) return null;
  return name.toLowerCase() === 'default' ? 'database_default' : name;
}

/** A tinyint of the catalog. Values are scaled by it, which would never end with millions of digits. */
const isDigits = (count: number): boolean => Number.isInteger(count) && count >= 0 && count <= 255;

const unlikeCatalog = (name: string): AppError =>
  new AppError(
    'destination_rejected',
    `The catalog of the sqlserver destination reports an impossible precision for column ${shownName(name)}; check host and port.`,
  );

const tablesSql = (parameters: readonly string[]): string => `
  select cast(o.object_id as int) as id, o.name as name, o.type as kind
  from sys.objects as o
  where o.schema_id = schema_id(@schema) and o.type in ('U', 'V')
    and o.name in (${parameters.map((name) => `@${name}`).join(', ')});`;

/**
 * An alias type counts as its base type; types of .NET stand for themselves. Only a filter (type 0) of a security policy hides
 * rows; a block predicate raises an error. A server without policies lacks their view.
 */
const columnsSql = `
  select c.name as name, coalesce(b.name, t.name) as type_name, cast(c.max_length as int) as bytes,
    cast(c."precision" as int) as total_digits, cast(c.scale as int) as scale,
    cast(c.is_nullable as int) as is_nullable,
    case when c.is_identity = 1 or c.is_computed = 1 or c.generated_always_type <> 0
        or coalesce(b.name, t.name) = 'timestamp' then 1 else 0 end as is_generated,
    case when coalesce(c.default_object_id, 0) <> 0 then 1 else 0 end as has_default,
    c.collation_name as collation_name
  from sys.columns as c
    inner join sys.types as t on t.user_type_id = c.user_type_id
    left join sys.types as b on b.user_type_id = c.system_type_id
  where c.object_id = @id
  order by c.column_id;
  select column_name as written_name
  from information_schema.columns where table_schema = @schema and table_name = @table;
  select name as instead_trigger
  from sys.triggers where parent_id = @id and is_instead_of_trigger = 1 and is_disabled = 0;
  if object_id(N'sys.security_predicates') is not null
    select p.name as filter_policy
    from sys.security_predicates as f inner join sys.security_policies as p on p.object_id = f.object_id
    where f.target_object_id = @id and f.predicate_type = 0 and p.is_enabled = 1;`;

const keysSql = `
  select cast(i.index_id as int) as index_id, c.name as name
  from sys.indexes as i
    inner join sys.index_columns as k on k.object_id = i.object_id and k.index_id = i.index_id
    inner join sys.columns as c on c.object_id = k.object_id and c.column_id = k.column_id
  where i.object_id = @id and i.is_unique = 1 and i.is_disabled = 0 and i.has_filter = 0
    and k.is_included_column = 0;`;

const notesSql = (schema: string): string => `
  select column_name as name, kind as kind, cast(is_evolved as int) as is_evolved
  from ${quoted(schema)}.${columnsTable} where table_id = @id;`;

export async function readRules(session: Session, id: number): Promise<StoredRules> {
  const checks = await session.query<StoredRules['checks'][number]>(
    `select name as name, definition as definition from sys.check_constraints
     where parent_object_id = @id and is_disabled = 0;`,
    { id },
  );
  const defaults = await session.query<StoredRules['defaults'][number]>(
    `select c.name as column_name, d.definition as definition
     from sys.default_constraints as d
       inner join sys.columns as c on c.object_id = d.parent_object_id and c.column_id = d.parent_column_id
     where d.parent_object_id = @id;`,
    { id },
  );
  return { checks, defaults };
}
