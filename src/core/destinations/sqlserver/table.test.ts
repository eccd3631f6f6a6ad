import { describe, expect, it } from 'vitest';
import type { Session } from './driver/session.ts';
import { columnsTable, readTables } from './table.ts';

describe('the tables of a schema', () => {
  it('are unknown while the schema is missing, which is not the same as having none', async () => {
    expect(await tablesOf({ schemaId: null }, ['contacts'])).toBeNull();
    expect(await tablesOf({}, ['contacts'])).toEqual(new Map());
  });

  it('are found by the rule of the database, whether case counts, and known by the name that was asked for', async () => {
    const tables = await tablesOf({ tables: [table('Contacts')], columns: [column('id')] }, ['contacts']);
    expect(tables?.get('contacts')).toMatchObject({ name: 'Contacts', id: 1, isView: false });
  });

  it('tell a view, which the service does not write', async () => {
    const tables = await tablesOf({ tables: [{ ...table('contacts'), kind: 'V ' }] }, ['contacts']);
    expect(tables?.get('contacts')?.isView).toBe(true);
  });

  it('tell an INSTEAD OF trigger and a security policy that hides rows, and take neither for a column', async () => {
    const found = [column('id'), { insteadTrigger: 'divert' }, { filterPolicy: 'only_mine' }];
    const tables = await tablesOf({ tables: [table('contacts')], columns: found }, ['contacts']);
    expect(tables?.get('contacts')).toMatchObject({ isDiverted: true, isFiltered: true, columns: [{ name: 'id' }] });
    const plain = await tablesOf({ tables: [table('contacts')], columns: [column('id')] }, ['contacts']);
    expect(plain?.get('contacts')).toMatchObject({ isDiverted: false, isFiltered: false });
  });

  it('have the columns of each unique key, sorted', async () => {
    const keys = [
      { indexId: 1, name: '_external_id' },
      { indexId: 2, name: 'email' },
      { indexId: 1, name: '_connection_id' },
    ];
    const tables = await tablesOf({ tables: [table('contacts')], keys }, ['contacts']);
    expect(tables?.get('contacts')?.keys).toEqual([['_connection_id', '_external_id'], ['email']]);
  });
});

describe('a column', () => {
  it('of a database that keeps names in lower case has the name that was written', async () => {
    const found = await columnsOf([column('fullname'), { writtenName: 'FullName' }]);
    expect(found).toMatchObject([{ name: 'FullName' }]);
  });

  it('keeps its name where another one differs from it only in case', async () => {
    const written = [{ writtenName: 'a' }, { writtenName: 'A' }];
    const found = await columnsOf([column('a'), column('A'), ...written]);
    expect(found.map(({ name }) => name)).toEqual(['a', 'A']);
  });

  it.each([
    ['nvarchar', 100, 50],
    ['nchar', 20, 10],
    ['varchar', 100, 100],
    ['nvarchar', -1, -1],
  ])(
    'of the type %s with %i bytes has the length %i: characters of two bytes where they have two',
    async (typeName, bytes, length) => {
      expect(await columnsOf([{ ...column('a'), typeName, bytes }])).toMatchObject([{ length }]);
    },
  );

  it.each([
    ['Latin1_General_100_BIN2', 'Latin1_General_100_BIN2'],
    ['default', 'database_default'],
    ["x' drop table t --", null],
    [null, null],
  ])(
    'has the collation %s as %s: what is no name is not made part of a statement',
    async (collationName, collation) => {
      expect(await columnsOf([{ ...column('a'), collationName }])).toMatchObject([{ collation }]);
    },
  );

  it.each([{ totalDigits: -1 }, { totalDigits: 256 }, { scale: 1.5 }, { scale: 1_000_000 }])(
    'with an impossible precision is refused, before values are scaled by it: %o',
    async (facts) => {
      await expect(columnsOf([{ ...column('a'), ...facts }])).rejects.toMatchObject({ code: 'destination_rejected' });
    },
  );

  it('holds JSON, and was added by the service, where the notes of the service say so', async () => {
    const notes = [
      { name: 'a', kind: 'json', isEvolved: 1 },
      { name: 'c', kind: 'text', isEvolved: 0 },
    ];
    const found = await columnsOf([column('a'), column('b'), column('c')], notes);
    expect(found).toMatchObject([
      { name: 'a', isJson: true, evolved: true, noted: true },
      { name: 'b', isJson: false, evolved: false, noted: false },
      { name: 'c', isJson: false, evolved: false, noted: true },
    ]);
  });
});

const table = (name: string) => ({ id: 1, name, kind: 'U ' });

const column = (name: string) => ({
  name,
  typeName: 'int',
  bytes: 4,
  totalDigits: 10,
  scale: 0,
  isNullable: 1,
  isGenerated: 0,
  hasDefault: 0,
  collationName: null,
});

interface Catalog {
  readonly schemaId?: number | null;
  readonly tables?: readonly object[];
  readonly columns?: readonly object[];
  readonly keys?: readonly object[];
  /** What the service noted on columns; absent: it has no table for notes. */
  readonly notes?: readonly object[];
}

async function columnsOf(columns: readonly object[], notes?: readonly object[]) {
  const tables = await tablesOf({ tables: [table('t')], columns, ...(notes && { notes }) }, ['t']);
  return tables?.get('t')?.columns ?? [];
}

/** Reads tables from a catalog that responds to each query by the view that it selects from. */
function tablesOf({ schemaId = 1, tables = [], columns = [], keys = [], notes }: Catalog, names: readonly string[]) {
  const found = notes ? [...tables, { id: 2, name: columnsTable, kind: 'U ' }] : tables;
  const views: readonly (readonly [string, readonly object[]])[] = [
    ['schema_id(@schema) as id', [{ id: schemaId }]],
    ['from sys.objects', found],
    ['from sys.columns', columns],
    ['from sys.indexes', keys],
    [`.${columnsTable} where`, notes ?? []],
  ];
  const session = {
    async query(sql: string) {
      const view = views.find(([text]) => sql.includes(text));
      if (!view) throw new Error(`no view for ${sql}`);
      return view[1];
    },
  } as unknown as Session;
  return readTables(session, { schema: 'crm', names });
}
