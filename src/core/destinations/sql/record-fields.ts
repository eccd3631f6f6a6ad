import type { Deliverable } from '../../model/batch.ts';
import { mapWithPauses, partsOf } from '../../work/map-with-pauses.ts';
import type { Column, TargetTable, WriteMode } from '../destination.ts';
import { inferredType } from './column-types.ts';
import { canNameColumn } from './identifiers.ts';

interface FillableColumn {
  readonly name: string;
  readonly generated: boolean;
  /** An earlier version of the service added and marked it for a field of the records. */
  readonly evolved: boolean;
}

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

export interface FieldMap<Prepared extends PreparedTable, Writer extends { readonly name: string }> {
  readonly prepared: Prepared;
  /** Written for every row, so that a missing field becomes null; in mode update only where it is given. */
  readonly writers: readonly Writer[];
}

export interface AdmittedFields<Map> {
  readonly map: Map;
  readonly refused: ReadonlyMap<string, string>;
}

export interface FieldKind<Prepared extends PreparedTable, Writer> {
  readonly addColumns: (prepared: Prepared, columns: readonly Column[]) => Promise<Prepared>;
  readonly writerOf: (column: Prepared['stored']['columns'][number], wanted?: Column) => Writer;
}

/** Far below database limits (SQL Server 1,024): a source that invents field names must not use the table up. */
const columnsMax = 1000;

interface LaneColumns {
  readonly target: TargetTable;
  /** See `WrittenColumns.find`; where it is `null` the marks count. */
  readonly written: readonly string[] | null;
}

/**
 * The columns of the spec and those that the lane has ever written. A customer's own columns are left alone until a record gives
 * them. Mode update may write any column, since it touches only columns that a record gives.
 */
export function initialFields<Prepared extends PreparedTable, Writer extends { readonly name: string }>(
  prepared: Prepared,
  { target, written }: LaneColumns,
  writerOf: FieldKind<Prepared, Writer>['writerOf'],
): FieldMap<Prepared, Writer> {
  const wanted = new Map(target.columns.map((column) => [column.name, column]));
  const before = written && new Set(written);
  const columns = prepared.stored.columns.filter(
    ({ name, evolved, generated }) =>
      !generated &&
      (wanted.has(name) || (before?.has(name) ?? evolved) || (target.mode === 'update' && canNameColumn(name))),
  );
  return { prepared, writers: columns.map((column) => writerOf(column, wanted.get(column.name))) };
}

/** Finds a column for every field of the rows, null included; creates one for each field that has a value. */
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
  const unknown = await unknownFields(map, rows);
  if (unknown.size === 0) return { map, refused: nothingRefused };
  const { known, added, refused } = await sortFields(unknown, { columns: map.prepared.stored.columns, evolve });
  const prepared = added.length > 0 ? await addColumns(map.prepared, added) : map.prepared;
  const names = new Set([...known, ...added.map(({ name }) => name)]);
  if (names.size === 0) return { map, refused };
  const columns = prepared.stored.columns.filter(({ name }) => names.has(name));
  return { map: { prepared, writers: [...map.writers, ...columns.map((column) => writerOf(column))] }, refused };
}

export const nothingRefused: ReadonlyMap<string, string> = new Map();

type LaneFields = FieldMap<PreparedTable, { readonly name: string }>;

/** Whether the lane writes every field of the rows that has a value, and every null that a column could take. */
export function coversFields(map: LaneFields, rows: readonly Deliverable[]): boolean {
  const { covered, fillable } = namesOf(map);
  for (const { data } of rows) {
    for (const name in data) {
      if (!covered.has(name) && ((data[name] ?? null) !== null || isGivenNull(data, name, fillable))) return false;
    }
  }
  return true;
}

/** A null counts if a column exists for it: the row may hold an older value there. */
const isGivenNull = (data: Deliverable['data'], name: string, fillable: ReadonlySet<string>): boolean =>
  data[name] === null && fillable.has(name);

interface ColumnNames {
  readonly covered: ReadonlySet<string>;
  readonly fillable: ReadonlySet<string>;
}

function namesOf({ prepared, writers }: LaneFields): ColumnNames {
  const fillable = prepared.stored.columns.filter(({ name, generated }) => !generated && canNameColumn(name));
  return {
    covered: new Set(writers.map(({ name }) => name)),
    fillable: new Set(fillable.map(({ name }) => name)),
  };
}

/** Fields without a writer, and their values; an empty list for a field that is always null and has a column. */
async function unknownFields(map: LaneFields, rows: readonly Deliverable[]): Promise<Map<string, unknown[]>> {
  const unknown = new Map<string, unknown[]>();
  await mapWithPauses(partsOf(rows), collectUnknown, { ...namesOf(map), unknown });
  return unknown;
}

function collectUnknown(
  rows: readonly Deliverable[],
  { covered, fillable, unknown }: ColumnNames & { readonly unknown: Map<string, unknown[]> },
): void {
  for (const { data } of rows) {
    for (const name in data) {
      if (covered.has(name)) continue;
      const value = data[name];
      const values = unknown.get(name);
      if (value === null || value === undefined) {
        if (!values && isGivenNull(data, name, fillable)) unknown.set(name, []);
      } else if (values) values.push(value);
      else unknown.set(name, [value]);
    }
  }
}

interface SortedFields {
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
