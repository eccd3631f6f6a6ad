import { describe, expect, it } from 'vitest';
import { countingSlices } from '../../work/turns-fixture.ts';
import type { Column, TargetTable, WriteMode } from '../destination.ts';
import { admitFields, coversFields, initialFields, type PreparedTable } from './record-fields.ts';

type Flags = { readonly generated?: boolean; readonly evolved?: boolean };

const preparedOf = (columns: Readonly<Record<string, Flags>>, mode: WriteMode = 'upsert'): PreparedTable => ({
  schema: 'crm',
  mode,
  written: 'contacts',
  stored: {
    name: 'contacts',
    columns: Object.entries(columns).map(([name, flags]) => ({ name, generated: false, evolved: false, ...flags })),
  },
});

const targetOf = (names: readonly string[], mode: WriteMode = 'upsert'): TargetTable => ({
  schema: 'crm',
  table: 'contacts',
  columns: names.map((name) => ({ name, type: { kind: 'text' }, nullable: true })),
  evolve: 'add_columns',
  mode,
});

const writerOf = ({ name }: { readonly name: string }) => ({ name });

const namesOf = (writers: readonly { readonly name: string }[]) => writers.map(({ name }) => name);

describe('a lane writes from its first batch on', () => {
  const stored = { id: {}, added: { evolved: true }, own: {}, total: { generated: true }, _run_id: {} };

  it("the columns of the spec and those that it has ever written, and leaves the customer's own alone", () => {
    const columns = { target: targetOf(['id', 'total']), written: ['once', 'total', 'dropped'] };
    const { writers } = initialFields(preparedOf({ ...stored, once: {} }), columns, writerOf);
    expect(namesOf(writers)).toEqual(['id', 'once']);
  });

  it('those that a version before this marked as its own, while nothing was noted of the lane', () => {
    const { writers } = initialFields(preparedOf(stored), { target: targetOf(['id']), written: null }, writerOf);
    expect(namesOf(writers)).toEqual(['id', 'added']);
  });

  it('in mode update every column that a record may name, since only what a record gives is touched', () => {
    const columns = { target: targetOf([], 'update'), written: [] };
    const { writers } = initialFields(preparedOf(stored, 'update'), columns, writerOf);
    expect(namesOf(writers)).toEqual(['id', 'added', 'own']);
  });
});

describe('a field that no column covers yet', () => {
  it('gets a column of the type that its values have in common', async () => {
    const { added, names } = await admitted({ id: {} }, [{ id: 'a', seats: 1 }, { seats: 2.5 }]);
    expect(added).toMatchObject([{ name: 'seats', type: { kind: 'float' }, nullable: true }]);
    expect(names).toEqual(['id', 'seats']);
  });

  it('is written where it is null in every record, if the table has a column for it', async () => {
    const { added, names, refused } = await admitted({ id: {}, own: {}, total: { generated: true }, _run_id: {} }, [
      { id: 'a', own: null, total: null, _run_id: null },
    ]);
    expect({ added, names, refused }).toEqual({ added: [], names: ['id', 'own'], refused: [] });
  });

  it('gets none while it is null in every record', async () => {
    const { added, names } = await admitted({ id: {} }, [{ id: 'a', seats: null }, { seats: undefined }]);
    expect(added).toEqual([]);
    expect(names).toEqual(['id']);
  });

  it('is dropped where the target does not evolve, but fills a column that is there', async () => {
    const found = await admitted({ id: {}, own: {} }, [{ own: 'x', seats: 1 }], 'none');
    expect(found).toEqual({ added: [], names: ['id', 'own'], refused: [] });
  });

  it.each([
    ['Id', 'differs from another column only in case; rename it in the transform'],
    ['_run_id', 'cannot name a column; rename it in the transform'],
    ['ctid', 'cannot name a column; rename it in the transform'],
    ['total', 'belongs to a column that the database computes'],
  ])('is refused with the reason where it cannot be stored: %s', async (name, reason) => {
    const { added, refused } = await admitted({ id: {}, _run_id: {}, total: { generated: true } }, [{ [name]: 1 }]);
    expect(added).toEqual([]);
    expect(refused).toEqual([[name, reason]]);
  });

  it('is refused when another new one of the same batch differs from it only in case', async () => {
    const { added, refused } = await admitted({ id: {} }, [{ seats: 1, Seats: 2 }]);
    expect(added).toMatchObject([{ name: 'seats' }]);
    expect(refused.map(([name]) => name)).toEqual(['Seats']);
  });

  it('is refused once a table has 1,000 columns, so that invented names do not use it up', async () => {
    const full = Object.fromEntries(['id', ...Array.from({ length: 998 }, (_, no) => `c${no}`)].map((n) => [n, {}]));
    const { added, refused } = await admitted(full, [{ last: 1, beyond: 2 }]);
    expect(added).toMatchObject([{ name: 'last' }]);
    expect(refused).toEqual([['beyond', 'is new and the table has 1000 columns already']]);
  });
});

it('rows are covered while every field with a value, and every null that a column could take, is written', () => {
  const map = { prepared: preparedOf({ id: {}, own: {}, total: { generated: true } }), writers: [{ name: 'id' }] };
  expect(coversFields(map, rowsOf([{ id: 1, seats: null, total: null, own: undefined }]))).toBe(true);
  expect(coversFields(map, rowsOf([{ id: 1 }, { seats: 0 }]))).toBe(false);
  expect(coversFields(map, rowsOf([{ id: 1 }, { own: null }]))).toBe(false);
});

const rowsOf = (records: readonly Readonly<Record<string, unknown>>[]) =>
  records.map((data, no) => ({ externalId: String(no), hash: null, data }));

/** Admits the fields of records to a lane that writes `id`. */
async function admitted(
  stored: Readonly<Record<string, Flags>>,
  records: readonly Readonly<Record<string, unknown>>[],
  evolve: TargetTable['evolve'] = 'add_columns',
) {
  const added: Column[] = [];
  const { map, refused } = await admitFields(
    { map: { prepared: preparedOf(stored), writers: [{ name: 'id' }] }, rows: rowsOf(records), evolve },
    {
      async addColumns(prepared, columns) {
        added.push(...columns);
        const made = columns.map(({ name }) => ({ name, generated: false, evolved: true }));
        return { ...prepared, stored: { ...prepared.stored, columns: [...prepared.stored.columns, ...made] } };
      },
      writerOf,
    },
  );
  return { added, names: namesOf(map.writers), refused: [...refused] };
}

it('looks for the fields of 50,000 rows in slices, between which other work has its turn', async () => {
  const prepared = preparedOf({});
  const rows = Array.from({ length: 50_000 }, (_, n) => ({
    externalId: String(n),
    hash: null,
    data: { [`f${n}`]: n },
  }));
  const map = { prepared, writers: [] };
  const { refused, turns } = await countingSlices(() =>
    admitFields({ map, rows, evolve: 'add_columns' }, { addColumns: async () => prepared, writerOf }),
  );
  expect(refused.size).toBe(49_000);
  expect(turns).toBeGreaterThanOrEqual(50);
});
