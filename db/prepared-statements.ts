import type { PostgresPool, PostgresPoolClient } from 'kysely';
import type pg from 'pg';
import { observations } from '../src/core/observations.ts';
import { durableCommitSql } from '../src/core/postgres/durable-commit.ts';
import { createStatementNames } from '../src/core/postgres/statement-names.ts';
import { noteBroken, noteUnopened } from './database-away.ts';
import { noteRefusal } from './refusals.ts';

/**
 * The pool with durable commits, and with statements that are prepared on their third use. The server then reads and
 * plans them once per connection, which is most of the work of a small one. Behind a pooler no statement is prepared,
 * because the next transaction may be on another connection of the server. There each transaction sets for itself that
 * its commit is durable.
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

/**
 * The text of a statement behind a pooler. One that begins a transaction also makes its commit durable, without another
 * round trip.
 */
const durably = (text: string): string =>
  /^(?:begin|start transaction)\b/.test(text) ? `${text}; select ${durableCommitSql('transaction')}` : text;

/**
 * Makes the commits of a new connection durable, and asks whether a pooler such as PgBouncer is in between. If one is,
 * the process that executes is not the one that was announced when the connection began. One query for each connection.
 */
async function isPooled(client: pg.PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>(
    `select pg_backend_pid() as pid, ${durableCommitSql('session')}`,
  );
  return rows[0]?.pid !== Reflect.get(client, 'processID');
}

/** How statements are sent. */
interface Preparation {
  /** The name of a statement on the server; undefined: it has none. */
  readonly nameOf: (text: string) => string | undefined;
  /** What is sent for a statement; absent: itself. */
  readonly textOf?: (text: string) => string;
}

function preparingClient(client: pg.PoolClient, { nameOf, textOf = (text) => text }: Preparation): PostgresPoolClient {
  // Kysely calls it with a text; with a cursor only where it was given a kind of cursor, which it is not.
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

/** Throws the error on, noted. */
const noting =
  (note: (error: unknown) => void) =>
  (error: unknown): never => {
    note(error);
    noteRefusal(error);
    throw error;
  };
