import * as v from 'valibot';
import { parseBounded } from '../../json/json-size.ts';
import { broken } from './message.ts';
import type { Session, TextRow } from './session.ts';

export interface StoredColumn {
  readonly name: string;
  /** Name in pg_type, such as `int8`. */
  readonly typeName: string;
  /** SQL type without length or precision: a cast with them would truncate instead of refuse. */
  readonly castType: string;
  readonly type: string;
  /** Length, or precision and scale, in PostgreSQL's coding; -1 if none. */
  readonly modifier: number;
  readonly nullable: boolean;
  readonly generated: boolean;
  /** It may be null, and has no default, constraint or collation of its own. */
  readonly isPlain: boolean;
  readonly evolved: boolean;
}

export interface StoredTable {
  readonly name: string;
  /** relkind: `r` for a table, `p` for a partitioned one; other kinds are not tables. */
  readonly kind: string;
  readonly columns: readonly StoredColumn[];
  readonly keys: readonly (readonly string[])[];
}

/** Marks {@link StoredColumn.evolved}. No longer written: `WrittenColumns` replaces it from a lane's next batch on. */
const evolvedComment = 'Added by the connector sync for a field of the records';

/** Leaves out missing tables; `null` if the schema is missing. */
export async function readTables(
  session: Session,
  { schema, names }: { readonly schema: string; readonly names: readonly string[] },
): Promise<ReadonlyMap<string, StoredTable> | null> {
  const rows = await session.query<keyof StoredTable>(readSql, [schema, names, evolvedComment]);
  if (rows.length === 0) return null;
  const tables = new Map<string, StoredTable>();
  for (const row of rows) {
    if (row.name === null) continue;
    const table = storedTable(row);
    tables.set(table.name, table);
  }
  return tables;
}

/** A table has 1,600 columns at most, each with ten values. */
const valuesMax = 20_000;
/** Of a `typmod` in pg_attribute. */
const Modifier = v.pipe(v.number(), v.integer(), v.minValue(-(2 ** 31)), v.maxValue(2 ** 31 - 1));

const CatalogueRow = v.object({
  name: v.string(),
  kind: v.string(),
  columns: v.array(
    v.object({
      name: v.string(),
      typeName: v.string(),
      castType: v.string(),
      type: v.string(),
      modifier: Modifier,
      nullable: v.boolean(),
      generated: v.boolean(),
      isPlain: v.boolean(),
      evolved: v.boolean(),
    }),
  ),
  keys: v.array(v.array(v.string())),
});

/** The catalogue is the server's, so its JSON is counted before it is parsed. */
function storedTable({ columns, keys, ...row }: TextRow<keyof StoredTable>): StoredTable {
  try {
    const [parsedColumns, parsedKeys] = [columns, keys].map((json) => parseBounded(Buffer.from(json ?? ''), valuesMax));
    return v.parse(CatalogueRow, { ...row, columns: parsedColumns, keys: parsedKeys });
  } catch {
    throw broken();
  }
}

const readSql = `
  select c.relname as name, c.relkind as kind,
    coalesce((
      select json_agg(json_build_object(
        'name', a.attname, 'typeName', t.typname, 'castType', format_type(a.atttypid, null),
        'type', format_type(a.atttypid, a.atttypmod),
        'modifier', a.atttypmod, 'nullable', not a.attnotnull,
        'generated', a.attgenerated <> '' or a.attidentity = 'a',
        'isPlain', not a.attnotnull and not a.atthasdef and a.attidentity = '' and a.attcollation = t.typcollation
          and not exists (
            select from pg_catalog.pg_constraint r where r.conrelid = c.oid and a.attnum = any(r.conkey)),
        'evolved', coalesce(col_description(c.oid, a.attnum) = $3, false)) order by a.attnum)
      from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped), '[]') as columns,
    coalesce((
      select json_agg((
        select json_agg(a.attname order by a.attname) from pg_catalog.pg_attribute a
        where a.attrelid = c.oid and a.attnum = any(i.indkey)))
      from pg_catalog.pg_index i
      where i.indrelid = c.oid and i.indisunique and i.indisvalid and i.indimmediate
        and i.indpred is null and i.indexprs is null), '[]') as keys
  from pg_catalog.pg_namespace n
  left join pg_catalog.pg_class c
    on c.relnamespace = n.oid and c.relname = any($2) and c.relkind in ('r', 'p', 'v', 'm', 'f')
  where n.nspname = $1`;
