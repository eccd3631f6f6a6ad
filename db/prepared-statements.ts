import type { PostgresPool, PostgresPoolClient } from 'kysely';
import type pg from 'pg';
import { createStatementNames } from '../src/core/statement-names.ts';

/**
 * The pool with statements prepared on their third use: the server then reads and plans them once per connection instead
 * of every time, which is most of the work of a small one.
 */
export function preparing(pool: pg.Pool): PostgresPool {
  const clients = new WeakMap<pg.PoolClient, PostgresPoolClient>();
  const nameOf = createStatementNames({ usesMin: 3, namesMax: 200 });
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect();
      const known = clients.get(client);
      if (known) return known;
      const wrapped = preparingClient(client, nameOf);
      clients.set(client, wrapped);
      return wrapped;
    },
  };
}

function preparingClient(client: pg.PoolClient, nameOf: (text: string) => string | undefined): PostgresPoolClient {
  // Kysely calls it with a text; with a cursor only where it was given a kind of cursor, which it is not.
  const query = async (text: string, values: readonly unknown[] = []) => {
    const name = values.length === 0 ? undefined : nameOf(text);
    return client.query({ text, values: [...values], ...(name === undefined ? {} : { name }) });
  };
  return { query: query as unknown as PostgresPoolClient['query'], release: (destroy) => client.release(destroy) };
}
