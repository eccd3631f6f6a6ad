import type { TdsRequest } from './tds-requests.ts';
import type { TdsError, TdsRow } from './tds-tokens.ts';

/** Schemas, tables and columns of a server, made by the statements of the service and asked for by them. */
export interface Catalog {
  /** Changes, results or an error; undefined for a statement that is about none. */
  reply(request: Exclude<TdsRequest, { kind: 'load' }>): readonly TdsRow[] | TdsError | undefined;
  /** The id of a table; null when there is none. */
  idOf(schema: string, table: string): number | null;
}

interface Table {
  readonly id: number;
  readonly schema: string;
  readonly name: string;
  readonly columns: Column[];
  readonly key: readonly string[];
}

interface Column {
  readonly name: string;
  readonly row: TdsRow;
}

/** What the service noted of a column, with the id of its table. */
interface Note {
  readonly id: number;
  readonly row: TdsRow;
}

/** How a catalog is. */
export interface CatalogOptions {
  /** As Babelfish does: names of columns in lower case, as they were written only in `information_schema`. */
  readonly foldsNames?: boolean;
}

/** A catalog with the schema dbo and nothing in it. */
export function createCatalog({ foldsNames = false }: CatalogOptions = {}): Catalog {
  const schemas = new Set(['dbo']);
  const tables: Table[] = [];
  const notes: Note[] = [];
  const owners = new Map<string, string>();
  const find = (schema: string, name: string) => tables.find((table) => table.schema === schema && table.name === name);

  const change = (sql: string): readonly TdsRow[] | TdsError | undefined => {
    const [, schema] = /^\s*create schema "(\w+)";/.exec(sql) ?? [];
    if (schema !== undefined) schemas.add(schema);
    const [, home = '', table = '', body] = /^\s*create table "(\w+)"\."(\w+)" \((.*)\);\s*$/s.exec(sql) ?? [];
    if (body !== undefined && find(home, table)) return { number: 2714, message: 'There is already an object.' };
    if (body !== undefined) tables.push({ id: 11 + tables.length, schema: home, name: table, ...definition(body) });
    const [, , place = '', grown = '', added] = /^\s*(alter table) "(\w+)"\."(\w+)" add (.*);/.exec(sql) ?? [];
    const columns = find(place, grown)?.columns;
    const grownBy = column(added ?? '');
    if (added !== undefined && columns?.some(({ name }) => name.toLowerCase() === grownBy.name.toLowerCase()))
      return { number: 2705, message: 'Column names in each table must be unique.' };
    if (added !== undefined) columns?.push(grownBy);
    const [, own = '', noted = '', name = '', kind = '', isEvolved] =
      /values \(object_id\(N'(\w+)\.(\w+)'\), N'(\w+)', N'(\w+)', (\d)\)/.exec(sql) ?? [];
    const id = find(own, noted)?.id;
    if (isEvolved !== undefined && id !== undefined) {
      notes.push({ id, row: { name, kind, is_evolved: Number(isEvolved) } });
    }
    const [, space = '', owned = '', org] =
      /insert into "(\w+)"\."_css_tables" .* values \(N'(\w+)', N'(\w+)',/.exec(sql) ?? [];
    if (org !== undefined && owners.has(`${space}.${owned}`)) return { number: 2627, message: 'Duplicate key.' };
    if (org !== undefined) owners.set(`${space}.${owned}`, org);
    const [, from = '', disowned] = /delete from "(\w+)"\."_css_tables" where table_name = N'(\w+)';/.exec(sql) ?? [];
    if (disowned !== undefined) owners.delete(`${from}.${disowned}`);
    return [schema, body, added, isEvolved, org, disowned].some((found) => found !== undefined) ? [] : undefined;
  };

  const ask = (sql: string, values: TdsRow): readonly TdsRow[] | undefined => {
    const { schema, id } = values;
    const asked = tables.find((table) => table.id === id);
    if (sql.includes('schema_id(@schema) as id')) return [{ id: schemas.has(String(schema)) ? 1 : null }];
    if (sql.includes('from sys.objects')) {
      const names = new Set(Object.values(values));
      const found = tables.filter((table) => table.schema === schema && names.has(table.name));
      return found.map((table) => ({ id: table.id, name: table.name, kind: 'U ' }));
    }
    if (sql.includes('from sys.columns')) {
      return columnRows(asked?.columns ?? [], { foldsNames, asksWritten: sql.includes('information_schema.columns') });
    }
    if (sql.includes('from sys.indexes')) return (asked?.key ?? []).map((name) => ({ index_id: 2, name }));
    const [, space = ''] = /select org_id as org_id from "(\w+)"\."_css_tables"/.exec(sql) ?? [];
    if (space !== '') {
      const org_id = owners.get(`${space}.${values['table']}`);
      return org_id === undefined ? [] : [{ org_id }];
    }
    return sql.includes('_css_columns where table_id')
      ? notes.filter((note) => note.id === id).map(({ row }) => row)
      : undefined;
  };

  return {
    reply: (request) => change(request.sql) ?? ask(request.sql, request.kind === 'batch' ? {} : request.values),
    idOf: (schema, table) => find(schema, table)?.id ?? null,
  };
}

/** A result of each of both views. */
function columnRows(
  columns: readonly Column[],
  { foldsNames, asksWritten }: { readonly foldsNames: boolean; readonly asksWritten: boolean },
): readonly TdsRow[] {
  const found = columns.map(({ name, row }) => ({
    ...row,
    name: foldsNames ? name.toLowerCase() : name,
  }));
  return asksWritten ? [...found, ...columns.map(({ name }) => ({ written_name: name }))] : found;
}

/** The columns and the primary key in the body of `create table`. */
function definition(body: string): Pick<Table, 'columns' | 'key'> {
  const parts = body.split(/,(?![^(]*\))/).map((part) => part.trim());
  const isKey = (part: string) => part.startsWith('primary key');
  const [, named] = /\((.*)\)/.exec(parts.find(isKey) ?? '') ?? [];
  const marked = parts.filter((part) => part.endsWith(' primary key')).map((part) => column(part).name);
  return {
    columns: parts.filter((part) => !isKey(part)).map(column),
    key: named === undefined ? marked : named.split(', '),
  };
}

/** One column, as sys.columns and sys.types have it. */
function column(text: string): Column {
  const [, name = '', type_name = '', given = '', rest = ''] =
    /^"?(\w+)"? (\w+)(?:\(([\w,]+)\))?(.*)$/s.exec(text) ?? [];
  const [first = 0, scale = 0] = given.split(',').map(Number);
  const isText = type_name === 'nvarchar';
  return {
    name,
    row: {
      name,
      type_name,
      bytes: isText ? (given === 'max' ? -1 : first * 2) : 8,
      total_digits: isText ? 0 : first,
      scale,
      is_nullable: /not null|primary key/.test(rest) ? 0 : 1,
      is_generated: rest.includes('identity') ? 1 : 0,
      has_default: 0,
      collation_name: isText ? 'Latin1_General_CI_AS' : null,
    },
  };
}
