import type { PostgresPool, PostgresPoolClient } from 'kysely';
import type pg from 'pg';

/** Uses after which a statement is worth preparing: most with lists of values differ each time. */
const usesMin = 3;
/** Statements prepared per process; each takes some 20 kB of memory on every connection of the server. */
const preparedMax = 200;
/** Texts whose uses are counted; beyond it the count begins anew. */
const countedMax = 2000;

/**
 * The pool with statements prepared on their third use: the server then reads and plans them once per connection instead
 * of every time, which is most of the work of a small one.
 */
export function preparing(pool: pg.Pool): PostgresPool {
  const clients = new WeakMap<pg.PoolClient, PostgresPoolClient>();
  const nameOf = createNames();
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

/** Names statements by their text; undefined: not used often enough, or too many others are. */
function createNames(): (text: string) => string | undefined {
  const names = new Map<string, string>();
  const uses = new Map<string, number>();
  return (text) => {
    const known = names.get(text);
    if (known !== undefined || names.size >= preparedMax) return known;
    if (uses.size >= countedMax) uses.clear();
    const count = (uses.get(text) ?? 0) + 1;
    uses.set(text, count);
    if (count < usesMin) return undefined;
    uses.delete(text);
    const name = `s${names.size}`;
    names.set(text, name);
    return name;
  };
}
