import type { PostgresPool, PostgresPoolClient } from 'kysely';
import type pg from 'pg';
import { createStatementNames } from '../src/core/postgres/statement-names.ts';
import { noteBroken, noteUnopened } from './database-away.ts';

/**
 * The pool with statements prepared on their third use: the server then reads and plans them once per connection instead
 * of every time, which is most of the work of a small one. Behind a pooler no statement is prepared: the next transaction may be
 * on another connection of the server, which knows none of them.
 */
export function preparing(pool: pg.Pool): PostgresPool {
  const clients = new WeakMap<pg.PoolClient, PostgresPoolClient>();
  const nameOf = createStatementNames({ usesMin: 3, namesMax: 200 });
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect().catch(noting(noteUnopened));
      const known = clients.get(client);
      if (known) return known;
      try {
        const wrapped = preparingClient(
          client,
          (await isPooled(client).catch(noting(noteUnopened))) ? () => undefined : nameOf,
        );
        clients.set(client, wrapped);
        return wrapped;
      } catch (error) {
        client.release(true);
        throw error;
      }
    },
  };
}

/**
 * Whether a pooler (PgBouncer, for one) is in between: the process that the server announced at the start of the connection is
 * then not the one that executes. One query for each connection.
 */
async function isPooled(client: pg.PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid !== Reflect.get(client, 'processID');
}

function preparingClient(client: pg.PoolClient, nameOf: (text: string) => string | undefined): PostgresPoolClient {
  // Kysely calls it with a text; with a cursor only where it was given a kind of cursor, which it is not.
  const query = async (text: string, values: readonly unknown[] = []) => {
    const name = values.length === 0 ? undefined : nameOf(text);
    const named = { text, values: [...values], ...(name === undefined ? {} : { name }) };
    return client.query(named).catch(noting(noteBroken));
  };
  return { query: query as unknown as PostgresPoolClient['query'], release: (destroy) => client.release(destroy) };
}

/** Throws the error on, noted. */
const noting =
  (note: (error: unknown) => void) =>
  (error: unknown): never => {
    note(error);
    throw error;
  };
