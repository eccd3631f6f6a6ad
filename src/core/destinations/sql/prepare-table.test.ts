import { describe, expect, it } from 'vitest';
import type { TargetTable, WriteMode } from '../destination.ts';
import { checkpointTable, ownersTable } from './identifiers.ts';
import { addColumns, checkTable, prepareTable } from './prepare-table.ts';
import type { CheckedTable } from './table-check.ts';
import type { TableKind } from './table-kind.ts';

describe('the table of a lane', () => {
  it('is made with all that is missing, in one piece of locked work, and then found', async () => {
    const database = createDatabase();
    const prepared = await prepareTable(database.kind, claim(target()));
    expect(prepared).toMatchObject({
      schema: 'crm',
      mode: 'upsert',
      written: 'contacts',
      stored: { name: 'contacts' },
    });
    expect(database.ran).toEqual([
      [`create ${checkpointTable}`, `create ${ownersTable}`, 'create contacts', 'own contacts'],
    ]);
  });

  it('is left as it is where nothing is missing', async () => {
    const database = createDatabase(ready, { owner: 'org_1' });
    await prepareTable(database.kind, claim(target()));
    expect(database.ran).toEqual([]);
  });

  it('in mode replace gathers its next generation in a table beside it', async () => {
    const { written } = await prepareTable(createDatabase().kind, claim(target('replace')));
    expect(written).toBe('_css_next_contacts');
  });

  it("is the winner's where another creator made the same at the same moment", async () => {
    const database = createDatabase({}, { duplicates: 5 });
    await expect(prepareTable(database.kind, claim(target()))).resolves.toMatchObject({ stored: { name: 'contacts' } });
  });

  it('is given up after six attempts, to be tried again later', async () => {
    const database = createDatabase({}, { duplicates: Number.POSITIVE_INFINITY });
    await expect(prepareTable(database.kind, claim(target()))).rejects.toMatchObject({
      code: 'destination_unavailable',
    });
    expect(database.tried()).toBe(6);
  });

  it('is not made when its creation fails for another reason', async () => {
    const database = createDatabase({}, { error: new Error('no privilege') });
    await expect(prepareTable(database.kind, claim(target()))).rejects.toThrow('no privilege');
    expect(database.tried()).toBe(1);
  });

  it.each([
    ['has a checkpoint table of somebody else', { [checkpointTable]: ['id'] }],
    ['has a table of that name which the service did not make', { foreign: ['id'] }],
  ])('is refused before anything is changed where the schema %s', async (_case, tables) => {
    const database = createDatabase(tables);
    const wanted = { ...target(), table: 'foreign' in tables ? 'foreign' : 'contacts' };
    await expect(prepareTable(database.kind, claim(wanted))).rejects.toMatchObject({ code: 'destination_rejected' });
    expect(database.tried()).toBe(0);
  });

  it('needs a schema: that of the target, or the one of the login', async () => {
    const { kind } = createDatabase();
    const wanted = { ...target(), schema: null };
    await expect(prepareTable({ ...kind, defaultSchema: 'own' }, claim(wanted))).resolves.toMatchObject({
      schema: 'own',
    });
    await expect(prepareTable(kind, claim(wanted))).rejects.toMatchObject({ code: 'destination_rejected' });
  });
});

describe('a table of another org', () => {
  it('is neither written, grown nor dropped, nor said anything of', async () => {
    const database = createDatabase({ ...ready, foreign: ['id'] }, { owner: 'org_2' });
    for (const table of ['contacts', 'foreign']) {
      const wanted = { ...target('replace'), table, columns: [column('more')] };
      await expect(prepareTable(database.kind, claim(wanted))).rejects.toMatchObject({
        code: 'destination_rejected',
        message: expect.stringMatching(/^(?!.*org_2).*belongs to another org/),
      });
      await expect(checkTable(database.kind, wanted)).rejects.toMatchObject({ code: 'destination_rejected' });
    }
    expect(database.tried()).toBe(0);
  });

  it('gets no column for a field either, should it have become one meanwhile', async () => {
    const database = createDatabase();
    const prepared = await prepareTable(database.kind, claim(target()));
    const sold: typeof database.kind = { ...database.kind, readOwner: async () => 'org_2' };
    await expect(addColumns(sold, prepared, [column('seats')])).rejects.toMatchObject({
      code: 'destination_rejected',
    });
    expect(database.ran).toHaveLength(1);
  });

  it('that was dropped is anybody’s', async () => {
    const { contacts: _dropped, ...left } = ready;
    const database = createDatabase(left, { owner: 'org_2' });
    await expect(prepareTable(database.kind, claim(target()))).resolves.toMatchObject({ schema: 'crm' });
    expect(database.owners.get('contacts')).toBe('org_1');
  });
});

describe('a table that is recorded for no org', () => {
  it('is taken before anything else of it is changed', async () => {
    const { [ownersTable]: _none, ...before } = ready;
    const database = createDatabase(before);
    await prepareTable(database.kind, claim({ ...target(), columns: [column('more')] }));
    expect(database.ran).toEqual([[`create ${ownersTable}`, 'take contacts']]);
  });

  it('is of the one of two orgs whose row is first; the other is refused', async () => {
    const database = createDatabase(ready, { takenBy: 'org_2' });
    await expect(prepareTable(database.kind, claim(target()))).rejects.toMatchObject({ code: 'destination_rejected' });
    expect(database.ran).toEqual([['take contacts']]);
    expect(database.owners.get('contacts')).toBe('org_2');
  });
});

describe('a table in the schema of before the org had one of its own', () => {
  const wanted = { ...target(), formerSchema: 'old' };

  it.each([
    ['stays in use where it is recorded for the org', { owner: 'org_1' }, 'old'],
    ['stays in use where the lane stands there', { lanes: ['con_1/contacts'] }, 'old'],
    ['is not used where it is recorded for another org', { owner: 'org_2' }, 'crm'],
    ['is not used where nothing says that it is of the org', {}, 'crm'],
  ])('%s', async (_case, known, schema) => {
    const database = createDatabase(ready, known);
    const readTables: typeof database.kind.readTables = async (of, names) =>
      of === 'old' || database.ran.length > 0 ? await database.kind.readTables(of, names) : new Map();
    await expect(prepareTable({ ...database.kind, readTables }, claim(wanted))).resolves.toMatchObject({ schema });
  });

  it('is refused where the lane stands there and another org has taken it', async () => {
    const { kind } = createDatabase(ready, { owner: 'org_2', lanes: ['con_1/contacts'] });
    await expect(prepareTable(kind, claim(wanted))).rejects.toMatchObject({ code: 'destination_rejected' });
  });
});

describe('columns for new fields', () => {
  it('are added, and found in the table afterwards', async () => {
    const database = createDatabase();
    const prepared = await prepareTable(database.kind, claim(target()));
    const grown = await addColumns(database.kind, prepared, [column('seats')]);
    expect(grown.stored.columns.map(({ name }) => name)).toContain('seats');
  });

  it('are waited for: when they are not there afterwards, the batch is tried again later', async () => {
    const database = createDatabase();
    const prepared = await prepareTable(database.kind, claim(target()));
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

const claim = (wanted: TargetTable) => ({ target: wanted, lane: 'con_1/contacts' });

/** All tables that a lane needs. */
const ready = {
  [checkpointTable]: ['lane'],
  [ownersTable]: ['table_name', 'org_id', 'recorded_at'],
  contacts: ['id'],
};

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

/** What is known of tables. */
interface Known {
  /** The org that every table is recorded for. */
  readonly owner?: string;
  /** The org that takes every table first. */
  readonly takenBy?: string;
  readonly lanes?: readonly string[];
}

/** One schema in memory; its statements are `create <table>`, `own <table>`, `take <table>` and `add <table> <column>`. */
function createDatabase(tables: Readonly<Record<string, readonly string[]>> = {}, faults: Faults & Known = {}) {
  const owners = new Map<string, string>();
  const stored = new Map(Object.entries(tables).map(([name, columns]) => [name, tableOf(name, columns.map(columnOf))]));
  const duplicate = new Error('there already');
  const ran: (readonly string[])[] = [];
  let tried = 0;
  const run = (statement: string) => {
    const [verb, table = '', name = ''] = statement.split(' ');
    if (verb === 'own') owners.set(table, 'org_1');
    else if (verb === 'take') owners.set(table, faults.takenBy ?? 'org_1');
    else if (verb === 'add') stored.set(table, tableOf(table, [...(stored.get(table)?.columns ?? []), columnOf(name)]));
    else stored.set(table, tableOf(table, (new Map(Object.entries(ready)).get(table) ?? ['id']).map(columnOf)));
  };
  const kind: TableKind<Stored> = {
    orgId: 'org_1',
    defaultSchema: null,
    checkpointColumns: ['lane'],
    ownTables: [],
    readTables: async (_schema, names) => new Map([...stored].filter(([name]) => names.includes(name))),
    checkOurs({ name }) {
      if (name === 'foreign') throw Object.assign(new Error('not ours'), { code: 'destination_rejected' });
    },
    checkTypes: () => undefined,
    readOwner: async (_schema, table) => owners.get(table) ?? faults.owner ?? null,
    hasLane: async ({ lane }) => faults.lanes?.includes(lane) === true,
    takeSql: ({ target: { table } }, { tables: found }) => [
      ...(found?.has(ownersTable) ? [] : [`create ${ownersTable}`]),
      `take ${table}`,
    ],
    createSql: async ({ target: { table } }, { tables: found }) =>
      [checkpointTable, ownersTable, table]
        .filter((name) => !found?.has(name))
        .flatMap((name) => (name === table ? [`create ${name}`, `own ${name}`] : [`create ${name}`])),
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
  return { kind, ran, owners, tried: () => tried };
}
