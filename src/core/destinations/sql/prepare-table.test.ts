import { describe, expect, it } from 'vitest';
import type { TargetTable, WriteMode } from '../destination.ts';
import { checkpointTable } from './identifiers.ts';
import { addColumns, prepareTable, type TableKind } from './prepare-table.ts';
import type { CheckedTable } from './table-check.ts';

describe('the table of a lane', () => {
  it('is made with all that is missing, in one piece of locked work, and then found', async () => {
    const database = createDatabase();
    const prepared = await prepareTable(database.kind, target());
    expect(prepared).toMatchObject({
      schema: 'crm',
      mode: 'upsert',
      written: 'contacts',
      stored: { name: 'contacts' },
    });
    expect(database.ran).toEqual([[`create ${checkpointTable}`, 'create contacts']]);
  });

  it('is left as it is where nothing is missing', async () => {
    const database = createDatabase({ [checkpointTable]: ['lane'], contacts: ['id'] });
    await prepareTable(database.kind, target());
    expect(database.ran).toEqual([]);
  });

  it('in mode replace gathers its next generation in a table beside it', async () => {
    const { written } = await prepareTable(createDatabase().kind, target('replace'));
    expect(written).toBe('_css_next_contacts');
  });

  it("is the winner's where another creator made the same at the same moment", async () => {
    const database = createDatabase({}, { duplicates: 5 });
    await expect(prepareTable(database.kind, target())).resolves.toMatchObject({ stored: { name: 'contacts' } });
  });

  it('is given up after six attempts, to be tried again later', async () => {
    const database = createDatabase({}, { duplicates: Number.POSITIVE_INFINITY });
    await expect(prepareTable(database.kind, target())).rejects.toMatchObject({ code: 'destination_unavailable' });
    expect(database.tried()).toBe(6);
  });

  it('is not made when its creation fails for another reason', async () => {
    const database = createDatabase({}, { error: new Error('no privilege') });
    await expect(prepareTable(database.kind, target())).rejects.toThrow('no privilege');
    expect(database.tried()).toBe(1);
  });

  it.each([
    ['has a checkpoint table of somebody else', { [checkpointTable]: ['id'] }],
    ['has a table of that name which the service did not make', { foreign: ['id'] }],
  ])('is refused before anything is changed where the schema %s', async (_case, tables) => {
    const database = createDatabase(tables);
    const wanted = { ...target(), table: 'foreign' in tables ? 'foreign' : 'contacts' };
    await expect(prepareTable(database.kind, wanted)).rejects.toMatchObject({ code: 'destination_rejected' });
    expect(database.tried()).toBe(0);
  });

  it('needs a schema: that of the target, or the one of the login', async () => {
    const { kind } = createDatabase();
    const wanted = { ...target(), schema: null };
    await expect(prepareTable({ ...kind, defaultSchema: 'own' }, wanted)).resolves.toMatchObject({ schema: 'own' });
    await expect(prepareTable(kind, wanted)).rejects.toMatchObject({ code: 'destination_rejected' });
  });
});

describe('columns for new fields', () => {
  it('are added, and found in the table afterwards', async () => {
    const database = createDatabase();
    const prepared = await prepareTable(database.kind, target());
    const grown = await addColumns(database.kind, prepared, [column('seats')]);
    expect(grown.stored.columns.map(({ name }) => name)).toContain('seats');
  });

  it('are waited for: when they are not there afterwards, the batch is tried again later', async () => {
    const database = createDatabase();
    const prepared = await prepareTable(database.kind, target());
    const idle: typeof database.kind = { ...database.kind, runLocked: async () => undefined };
    await expect(addColumns(idle, prepared, [column('seats')])).rejects.toMatchObject({
      code: 'destination_unavailable',
    });
  });
});

const column = (name: string) => ({ name, type: { kind: 'boolean' }, nullable: true }) as const;

const target = (mode: WriteMode = 'upsert'): TargetTable => ({
  schema: 'crm',
  table: 'contacts',
  columns: [column('id')],
  evolve: 'add_columns',
  mode,
});

interface Stored extends CheckedTable {
  readonly columns: readonly StoredColumn[];
}

type StoredColumn = CheckedTable['columns'][number] & { readonly evolved: boolean };

const tableOf = (name: string, columns: readonly StoredColumn[]): Stored => ({
  name,
  columns,
  keys: columns.map((key) => [key.name]),
});

const columnOf = (name: string): StoredColumn => ({ name, typeName: '', generated: false, evolved: false });

interface Faults {
  /** How often the creation loses against another one, which has not committed yet. */
  readonly duplicates?: number;
  readonly error?: Error;
}

/** One schema in memory; its statements are `create <table>` and `add <table> <column>`. */
function createDatabase(tables: Readonly<Record<string, readonly string[]>> = {}, faults: Faults = {}) {
  const stored = new Map(Object.entries(tables).map(([name, columns]) => [name, tableOf(name, columns.map(columnOf))]));
  const duplicate = new Error('there already');
  const ran: (readonly string[])[] = [];
  let tried = 0;
  const run = (statement: string) => {
    const [verb, table = '', name = ''] = statement.split(' ');
    const before = stored.get(table)?.columns ?? [];
    const more = columnOf(verb !== 'create' ? name : table === checkpointTable ? 'lane' : 'id');
    stored.set(table, tableOf(table, [...before, more]));
  };
  const kind: TableKind<Stored> = {
    defaultSchema: null,
    checkpointColumns: ['lane'],
    ownTables: [],
    readTables: async (_schema, names) => new Map([...stored].filter(([name]) => names.includes(name))),
    checkOurs({ name }) {
      if (name === 'foreign') throw Object.assign(new Error('not ours'), { code: 'destination_rejected' });
    },
    checkTypes: () => undefined,
    createSql: async ({ target: { table } }, { tables: found }) =>
      [checkpointTable, table].filter((name) => !found?.has(name)).map((name) => `create ${name}`),
    growSql: async ({ stored: { name } }, columns) => columns.map((added) => `add ${name} ${added.name}`),
    async runLocked({ statements }) {
      tried += 1;
      const wanted = await statements();
      if (faults.error) throw faults.error;
      if (tried <= (faults.duplicates ?? 0)) throw duplicate;
      ran.push(wanted);
      for (const statement of wanted) run(statement);
    },
    isDuplicateObject: (error) => error === duplicate,
  };
  return { kind, ran, tried: () => tried };
}
