import { outcomeOf } from './account.ts';
import type { Act } from './act.ts';
import { collectionOf } from './genes.ts';
import type { Collection } from './records.ts';
import type { Story } from './story.ts';

/** Lets a customer do something to the table of one resource, where there is one. */
const atTable = (sqlOf: (table: Collection, columns: readonly string[], story: Story) => readonly string[]) => {
  return async (story: Story): Promise<string | null> => {
    const table = collectionOf(story.random.pick(story.genes.resources).key);
    const { query } = story.destination;
    if (!query) return null;
    const columns = await columnsOf(story, table);
    const statements = sqlOf(table, columns, story);
    if (columns.length === 0) return null;
    for (const sql of statements) await query(sql);
    return statements.join('; ');
  };
};

async function columnsOf({ destination }: Story, table: Collection): Promise<readonly string[]> {
  const found = await destination.query?.<{ readonly name: string }>(
    `select column_name as name from information_schema.columns where table_name = '${table}' and table_schema = 'public'
     order by ordinal_position`,
  );
  return found?.map(({ name }) => name) ?? [];
}

/** Default of a column in a table that the customer made. */
export const ofCustomer = 'by hand';

/** A table as the documentation asks for one. */
const byHand = (table: Collection, isAppend: boolean): string =>
  `create table ${table} (${isAppend ? '_seq bigint generated always as identity primary key, ' : ''}
    _connection_id text not null, _external_id text not null, _run_id text not null, _synced_at timestamptz not null,
    _deleted_at timestamptz, id text, name text, note text default '${ofCustomer}'
    ${isAppend ? '' : ', primary key (_connection_id, _external_id)'})`;

const tablesOf = async ({ destination }: Story, schema: string): Promise<readonly string[]> => {
  const found = await destination.query?.<{ readonly name: string }>(
    `select table_name as name from information_schema.tables where table_schema = '${schema}' order by table_name`,
  );
  return found?.map(({ name }) => name) ?? [];
};

async function backUp(story: Story): Promise<string | null> {
  const { query } = story.destination;
  if (!query) return null;
  await query('drop schema if exists backup cascade');
  await query('create schema backup');
  const tables = await tablesOf(story, 'public');
  for (const table of tables) await query(`create table backup.${table} as table public.${table}`);
  story.backup = { of: story.destination, at: new Date().toISOString(), version: story.version };
  return tables.join(', ');
}

/** The tables as they were, with their checkpoints; often a person has each resource rewound to that time. */
async function restore(story: Story): Promise<string | null> {
  const { backup, destination, account } = story;
  if (backup?.of !== destination || backup.version !== story.version || !destination.query) return null;
  const kept = await tablesOf(story, 'backup');
  for (const table of await tablesOf(story, 'public')) {
    if (!kept.includes(table)) {
      await destination.query(`drop table public.${table}`);
      continue;
    }
    const columns = await destination.query<{ readonly names: string }>(
      `select string_agg(format('%I', column_name), ', ') as names from information_schema.columns
       where table_schema = 'backup' and table_name = '${table}'`,
    );
    await destination.query(`truncate public.${table}`);
    const names = columns[0]?.names ?? '';
    await destination.query(
      `insert into public.${table} (${names}) overriding system value select ${names} from backup.${table}`,
    );
  }
  // Otherwise nobody says so: the service has to find it.
  if (!story.random.chance(0.6)) return `to ${backup.at}, and nobody knows`;
  const outcomes: string[] = [];
  for (const { key, mode } of story.genes.resources) {
    const rewound = mode === 'append' ? { force: true } : { rewindTo: backup.at };
    outcomes.push(`${key}: ${outcomeOf(await account.backfill({ resource: key, ...rewound }))}`);
  }
  return `to ${backup.at}: ${outcomes.join('; ')}`;
}

/** Makes a table for a connection that has none yet; null: it has one. */
export async function makeTable(story: Story, table: Collection): Promise<string | null> {
  const columns = await columnsOf(story, table);
  if (columns.length > 0 || !story.destination.query) return null;
  const isAppend = story.genes.resources.some(({ key, mode }) => key === table && mode === 'append');
  await story.destination.query(byHand(table, isAppend));
  return table;
}

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
  { name: 'the customer backs up', weight: 3, run: backUp },
  { name: 'the customer restores the backup', weight: 5, run: restore },
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
      if (!destination.query) return null;
      await destination.query('drop table if exists _css_checkpoint');
      return 'gone';
    },
  },
  {
    name: 'the customer makes a table by hand',
    weight: 1,
    run: (story) => makeTable(story, collectionOf(story.random.pick(story.genes.resources).key)),
  },
];
