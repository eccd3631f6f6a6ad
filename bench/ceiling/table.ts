/** The ceiling's side of PostgreSQL: the customers' table, fingerprints, and where the read stands. */
import pg from 'pg';
import { columns, type Row } from './rows.ts';

/** Where a read stands. */
interface Checkpoint {
  /** Null: at its end. */
  readonly next: string | null;
  /** The latest change that was seen; null: none yet. */
  readonly watermark: string | null;
}

/** What goes into one transaction of bookkeeping. */
export interface Progress extends Checkpoint {
  readonly fingerprints: ReadonlyMap<string, string>;
}

/** Two sessions, so that the next batch is looked up while one is written. */
export interface CeilingTable extends AsyncDisposable {
  /** Null: it was never read. */
  checkpoint(): Promise<Checkpoint | null>;
  /** Fingerprints of those that are known, by id. */
  known(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  write(rows: readonly Row[]): Promise<void>;
  note(progress: Progress): Promise<void>;
}

const names = Object.keys(columns) as (keyof typeof columns)[];

const schemaSql = `
  create table if not exists customers (${names.map((name) => `${name} ${columns[name]}`).join(', ')}, primary key (id));
  create table if not exists fingerprints (id text primary key, fingerprint text not null);
  create table if not exists checkpoint (id boolean primary key default true, next text, watermark text)`;

const writeSql = `
  insert into customers select * from unnest(${names.map((name, index) => `$${index + 1}::${columns[name]}[]`).join(', ')})
  on conflict (id) do update set ${names
    .slice(1)
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')}`;

const noteSql = `
  with kept as (
    insert into fingerprints select * from unnest($1::text[], $2::text[])
    on conflict (id) do update set fingerprint = excluded.fingerprint)
  insert into checkpoint (next, watermark) values ($3, $4)
  on conflict (id) do update set next = excluded.next, watermark = excluded.watermark`;

/** Opens it, and makes it where it is not. */
export async function openTable(url: string): Promise<CeilingTable> {
  await using stack = new AsyncDisposableStack();
  const [destination, state] = [new pg.Client(url), new pg.Client(url)];
  for (const client of [destination, state]) {
    await client.connect();
    stack.defer(() => client.end());
  }
  await destination.query(schemaSql);
  const opened = stack.move();
  return {
    async checkpoint() {
      const { rows } = await state.query<Checkpoint>('select next, watermark from checkpoint');
      return rows[0] ?? null;
    },
    async known(ids) {
      const text = 'select id, fingerprint from fingerprints where id = any($1)';
      const { rows } = await state.query<{ id: string; fingerprint: string }>({ name: 'known', text, values: [ids] });
      return new Map(rows.map(({ id, fingerprint }) => [id, fingerprint]));
    },
    async write(rows) {
      const values = names.map((name) =>
        rows.map(columns[name] === 'jsonb' ? (row) => JSON.stringify(row[name]) : (row) => row[name]),
      );
      await destination.query({ name: 'write', text: writeSql, values });
    },
    async note({ fingerprints, next, watermark }) {
      const values = [[...fingerprints.keys()], [...fingerprints.values()], next, watermark];
      await state.query({ name: 'note', text: noteSql, values });
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
