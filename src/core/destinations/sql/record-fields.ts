import type { Deliverable } from '../../model/batch.ts';
import { mapWithPauses, partsOf } from '../../work/map-with-pauses.ts';
import type { Column, TargetTable, WriteMode } from '../destination.ts';
import { inferredType } from './column-types.ts';
import { canNameColumn } from './identifiers.ts';

/** The properties of a stored column that decide whether records may fill it. */
interface FillableColumn {
  readonly name: string;
  /** The database computes it. */
  readonly generated: boolean;
  /** The service added it for a field of the records. */
  readonly evolved: boolean;
}

/** A target table that exists, with the schema it is in. */
export interface PreparedTable<
  Table extends { readonly name: string; readonly columns: readonly FillableColumn[] } = {
    readonly name: string;
    readonly columns: readonly FillableColumn[];
  },
> {
  readonly schema: string;
  readonly mode: WriteMode;
  readonly stored: Table;
  /** Where batches write: the table itself, or in mode replace the one where its next generation gathers. */
  readonly written: string;
}

/** The columns that batches write, and the table they are of. */
export interface FieldMap<Prepared extends PreparedTable, Writer extends { readonly name: string }> {
  readonly prepared: Prepared;
  /** Written for every row, so that a missing field becomes null; in mode update only where it is given. */
  readonly writers: readonly Writer[];
}

/** The result for one batch: the map that covers it, and the fields that cannot be stored with the reason. */
export interface AdmittedFields<Map> {
  readonly map: Map;
  readonly refused: ReadonlyMap<string, string>;
}

/** The parts of the rules for fields that depend on the kind of database. */
export interface FieldKind<Prepared extends PreparedTable, Writer> {
  /** Adds a column for each new field; returns the table as it then is. */
  readonly addColumns: (prepared: Prepared, columns: readonly Column[]) => Promise<Prepared>;
  readonly writerOf: (column: Prepared['stored']['columns'][number], wanted?: Column) => Writer;
}

/** Far below the limits of databases (SQL Server 1,024): a source that invents field names must not use the table up. */
const columnsMax = 1000;

/**
 * The columns of the spec and those that earlier batches added; a customer's own columns are left alone. Mode update
 * may write any column, since it touches only those that a record gives.
 */
export function initialFields<Prepared extends PreparedTable, Writer extends { readonly name: string }>(
  prepared: Prepared,
  target: TargetTable,
  writerOf: FieldKind<Prepared, Writer>['writerOf'],
): FieldMap<Prepared, Writer> {
  const wanted = new Map(target.columns.map((column) => [column.name, column]));
  const columns = prepared.stored.columns.filter(
    ({ name, evolved, generated }) =>
      !generated && (evolved || wanted.has(name) || (target.mode === 'update' && canNameColumn(name))),
  );
  return { prepared, writers: columns.map((column) => writerOf(column, wanted.get(column.name))) };
}

/** Finds or creates a column for every field of the rows that has a value. */
export async function admitFields<Prepared extends PreparedTable, Writer extends { readonly name: string }>(
  {
    map,
    rows,
    evolve,
  }: {
    readonly map: FieldMap<Prepared, Writer>;
    readonly rows: readonly Deliverable[];
    readonly evolve: TargetTable['evolve'];
  },
  { addColumns, writerOf }: FieldKind<Prepared, Writer>,
): Promise<AdmittedFields<FieldMap<Prepared, Writer>>> {
  const unknown = await unknownFields(map.writers, rows);
  if (unknown.size === 0) return { map, refused: nothingRefused };
  const { known, added, refused } = await sortFields(unknown, { columns: map.prepared.stored.columns, evolve });
  const prepared = added.length > 0 ? await addColumns(map.prepared, added) : map.prepared;
  const names = new Set([...known, ...added.map(({ name }) => name)]);
  if (names.size === 0) return { map, refused };
  const columns = prepared.stored.columns.filter(({ name }) => names.has(name));
  return { map: { prepared, writers: [...map.writers, ...columns.map((column) => writerOf(column))] }, refused };
}

/** The refused fields of {@link AdmittedFields} where every field is known. */
export const nothingRefused: ReadonlyMap<string, string> = new Map();

/** Whether every field of the rows that has a value has a column. */
export function coversFields(
  { writers }: { readonly writers: readonly { readonly name: string }[] },
  rows: readonly Deliverable[],
): boolean {
  const covered = new Set(writers.map(({ name }) => name));
  for (const { data } of rows) {
    for (const name in data) if (!covered.has(name) && (data[name] ?? null) !== null) return false;
  }
  return true;
}

/** Fields without a writer and their values; fields that are null throughout need no column. */
async function unknownFields(
  writers: readonly { readonly name: string }[],
  rows: readonly Deliverable[],
): Promise<Map<string, unknown[]>> {
  const covered = new Set(writers.map(({ name }) => name));
  const unknown = new Map<string, unknown[]>();
  await mapWithPauses(partsOf(rows), collectUnknown, { covered, unknown });
  return unknown;
}

function collectUnknown(
  rows: readonly Deliverable[],
  { covered, unknown }: { readonly covered: ReadonlySet<string>; readonly unknown: Map<string, unknown[]> },
): void {
  for (const { data } of rows) {
    for (const name in data) {
      if (covered.has(name)) continue;
      const value = data[name];
      if (value === null || value === undefined) continue;
      const values = unknown.get(name);
      if (values) values.push(value);
      else unknown.set(name, [value]);
    }
  }
}

interface SortedFields {
  /** The fields in the table that are not written yet. */
  readonly known: readonly string[];
  readonly added: readonly Column[];
  readonly refused: ReadonlyMap<string, string>;
}

async function sortFields(
  unknown: ReadonlyMap<string, readonly unknown[]>,
  { columns, evolve }: { readonly columns: readonly FillableColumn[]; readonly evolve: TargetTable['evolve'] },
): Promise<SortedFields> {
  const stored = new Map(columns.map((column) => [column.name, column]));
  const taken = new Set([...stored.keys()].map((name) => name.toLowerCase()));
  const known: string[] = [];
  const added: Column[] = [];
  const refused = new Map<string, string>();
  const sortField = ([name, values]: readonly [string, readonly unknown[]]): void => {
    const column = canNameColumn(name) ? stored.get(name) : undefined;
    if (!column && evolve === 'none') return;
    const issue = column ? storedIssue(column) : newIssue(name, taken);
    if (issue !== null) {
      refused.set(name, issue);
      return;
    }
    const type = column ? null : inferredType(values);
    if (column) known.push(name);
    else if (type) {
      added.push({ name, type, nullable: true });
      taken.add(name.toLowerCase());
    }
  };
  await mapWithPauses([...unknown], sortField);
  return { known, added, refused };
}

const storedIssue = ({ generated }: FillableColumn): string | null =>
  generated ? 'belongs to a column that the database computes' : null;

function newIssue(name: string, taken: ReadonlySet<string>): string | null {
  if (!canNameColumn(name)) return 'cannot name a column; rename it in the transform';
  if (taken.has(name.toLowerCase())) return 'differs from another column only in case; rename it in the transform';
  return taken.size >= columnsMax ? `is new and the table has ${columnsMax} columns already` : null;
}
