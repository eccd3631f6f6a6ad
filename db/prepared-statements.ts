import type { PostgresPool, PostgresPoolClient } from 'kysely';
import type pg from 'pg';
import { observations } from '../src/core/observations.ts';
import { durableCommitSql } from '../src/core/postgres/durable-commit.ts';
import { createStatementNames } from '../src/core/postgres/statement-names.ts';
import { noteBroken, noteUnopened } from './database-away.ts';
import { noteRefusal } from './refusals.ts';

/**
 * The pool with durable commits, and with statements that are prepared on their third use. The server then parses and plans them
 * once per connection, which is most of the work of a small one. Behind a pooler nothing is prepared, because the next
 * transaction may use another server connection. There each transaction makes its own commit durable.
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
        const pooled = await isPooled(client).catch(noting(noteUnopened));
        const wrapped = preparingClient(client, pooled ? { nameOf: () => undefined, textOf: durably } : { nameOf });
        clients.set(client, wrapped);
        return wrapped;
      } catch (error) {
        client.release(true);
        throw error;
      }
    },
  };
}

/** Behind a pooler, the statement that begins a transaction also makes its commit durable, without another round trip. */
const durably = (text: string): string =>
  /^(?:begin|start transaction)\b/.test(text) ? `${text}; select ${durableCommitSql('transaction')}` : text;

/**
 * In one query, makes the commits of a new connection durable and detects a pooler such as PgBouncer. Behind one, the executing
 * process is not the one announced at connect.
 */
async function isPooled(client: pg.PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>(
    `select pg_backend_pid() as pid, ${durableCommitSql('session')}`,
  );
  return rows[0]?.pid !== Reflect.get(client, 'processID');
}

interface Preparation {
  /** `undefined` if the statement is not prepared. */
  readonly nameOf: (text: string) => string | undefined;
  readonly textOf?: (text: string) => string;
}

function preparingClient(client: pg.PoolClient, { nameOf, textOf = (text) => text }: Preparation): PostgresPoolClient {
  // Kysely passes a text: a cursor would need a cursor class, which it was not given.
  const query = async (text: string, values: readonly unknown[] = []) => {
    const name = values.length === 0 ? undefined : nameOf(text);
    const named = { text: textOf(text), values: [...values], ...(name === undefined ? {} : { name }) };
    const begunAt = performance.now();
    const sent = (failed: boolean) =>
      observations.statementSent.publish({ text, durationMs: Math.round(performance.now() - begunAt), failed });
    try {
      const result = await client.query(named);
      sent(false);
      return result;
    } catch (error) {
      sent(true);
      return noting(noteBroken)(error);
    }
  };
  return { query: query as unknown as PostgresPoolClient['query'], release: (destroy) => client.release(destroy) };
}

const noting =
  (note: (error: unknown) => void) =>
  (error: unknown): never => {
    note(error);
    noteRefusal(error);
    throw error;
  };
