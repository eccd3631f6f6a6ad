import type { Act } from './act.ts';
import type { Collection } from './records.ts';
import type { Story } from './story.ts';

/** Lets a customer do something to the table of one resource, where there is one. */
const atTable = (sqlOf: (table: Collection, columns: readonly string[], story: Story) => readonly string[]) => {
  return async (story: Story): Promise<string | null> => {
    const table = story.random.pick(story.genes.resources).key;
    const columns = await columnsOf(story, table);
    const statements = sqlOf(table, columns, story);
    if (columns.length === 0) return null;
    for (const sql of statements) await story.destination.query(sql);
    return statements.join('; ');
  };
};

async function columnsOf({ destination }: Story, table: Collection): Promise<readonly string[]> {
  const found = await destination.query<{ readonly name: string }>(
    `select column_name as name from information_schema.columns where table_name = '${table}' and table_schema = 'public'
     order by ordinal_position`,
  );
  return found.map(({ name }) => name);
}

/** A table as the documentation asks for one. */
const byHand = (table: Collection, isAppend: boolean): string =>
  `create table ${table} (${isAppend ? '_seq bigint generated always as identity primary key, ' : ''}
    _connection_id text not null, _external_id text not null, _run_id text not null, _synced_at timestamptz not null,
    _deleted_at timestamptz, id text, name text, note text
    ${isAppend ? '' : ', primary key (_connection_id, _external_id)'})`;

/** What customers do to their own tables. */
export const customerActs: readonly Act[] = [
  { name: 'the customer drops a table', weight: 2, run: atTable((table) => [`drop table ${table}`]) },
  {
    name: 'the customer rebuilds a table',
    weight: 2,
    run: atTable((table, columns) => [
      `create table rebuilt (like ${table} including all)`,
      `insert into rebuilt overriding system value select * from ${table}`,
      ...(columns.includes('_seq')
        ? ["select setval(pg_get_serial_sequence('rebuilt', '_seq'), (select max(_seq) from rebuilt))"]
        : []),
      `drop table ${table}`,
      `alter table rebuilt rename to ${table}`,
    ]),
  },
  {
    name: 'the customer comments columns',
    weight: 2,
    run: atTable((table, columns) => columns.map((column) => `comment on column ${table}."${column}" is 'ours'`)),
  },
  {
    name: 'the customer adds a column',
    weight: 1,
    run: atTable((table) => [`alter table ${table} add column if not exists of_the_customer text default 'theirs'`]),
  },
  {
    name: 'the customer drops the checkpoints',
    weight: 2,
    run: async ({ destination }) => {
      await destination.query('drop table if exists _css_checkpoint');
      return 'gone';
    },
  },
  {
    name: 'the customer makes a table by hand',
    weight: 1,
    run: async (story) => {
      const table = story.random.pick(story.genes.resources).key;
      const columns = await columnsOf(story, table);
      if (columns.length > 0) return null;
      const isAppend = story.genes.resources.some(({ key, mode }) => key === table && mode === 'append');
      await story.destination.query(byHand(table, isAppend));
      return table;
    },
  },
];
