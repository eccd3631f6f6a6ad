import type pg from 'pg';
import { durableCommitSql } from '../../postgres/durable-commit.ts';
import type { PostgresAddress } from './address.ts';
import { type ConnectOptions, connectPostgres, responseGraceMs, type SessionLimits } from './connect.ts';
import { endsConnection } from './errors.ts';
import type { ResponseLimits } from './frames.ts';
import { createPreparedQueries } from './prepared-queries.ts';
import type { CheckedWire } from './wire.ts';

/** Each value as the server's text, whatever its type. A hostile server may leave a column out. */
export type TextRow<Column extends string> = Readonly<Partial<Record<Column, string | null>>>;

export const isTrue = (value: string | null | undefined): boolean => value === 't';

/** For a response that has only ids among these, each at most once. */
export const idLimits = (ids: readonly unknown[]): ResponseLimits => ({
  bytesMax: ids.reduce<number>((sum, id) => sum + Buffer.byteLength(String(id)) + idHeadBytes, 65_536),
  rowsMax: ids.length + 1,
});

/** Of a row: its type and length, the number of columns, and the length of the value. */
const idHeadBytes = 11;

export const idsIn = (rows: readonly TextRow<'id'>[]): readonly string[] => rows.flatMap(({ id }) => id ?? []);

export interface Session extends AsyncDisposable {
  /** `null` if the role's search path names no schema. */
  readonly defaultSchema: string | null;
  isUsable(): boolean;
  /** Planned anew each time. `limits` applies to the response, where it may be larger than most. */
  query<Column extends string>(
    sql: string,
    values?: readonly unknown[],
    limits?: ResponseLimits,
  ): Promise<readonly TextRow<Column>[]>;
  /** For a statement that is its own transaction and recurs, as batches do. */
  queryAgain(sql: string, values: readonly unknown[]): Promise<readonly unknown[]>;
  /** For a statement of a transaction whose time grows with the table. It and later statements may take half an hour. */
  queryAll(sql: string, values?: readonly unknown[]): Promise<void>;
}

/** Ten million rows take a few minutes. */
const queryAllMs = 30 * 60_000;

/**
 * The largest usual responses have 1,000 ids, or describe some tables with 1,600 columns each. They count in no memory of the org,
 * as light bodies do not.
 */
const responseLimits: ResponseLimits = { bytesMax: 2_200_000, rowsMax: 1000 };
const settingsLimits: ResponseLimits = { bytesMax: 65_536, rowsMax: 1 };

/** Milliseconds to wait for the server's goodbye. */
const goodbyeMs = 2000;

/** Makes every session alike, independent of the settings of role and database. Statements throw raw errors of pg. */
export async function openSession(address: PostgresAddress, options: ConnectOptions): Promise<Session> {
  const { client, wire } = await connectPostgres(address, options);
  const run = async <Column extends string>(
    config: pg.QueryConfig & { readonly query_timeout?: number },
    limits = responseLimits,
  ) => {
    wire.expectResponse(limits);
    try {
      return (await client.query<TextRow<Column>>(config)).rows;
    } catch (error) {
      if (endsConnection(error)) wire.destroy();
      throw error;
    }
  };
  const query: Session['query'] = <Column extends string>(
    text: string,
    values?: readonly unknown[],
    limits?: ResponseLimits,
  ) => run<Column>({ text, ...(values && { values: [...values] }) }, limits);
  const queryAgain = createPreparedQueries(({ values, ...statement }) => run({ ...statement, values: [...values] }));
  const queryAll: Session['queryAll'] = async (text, values = []) => {
    await query(`set local statement_timeout = ${queryAllMs}`);
    await run({ text, values: [...values], query_timeout: queryAllMs + responseGraceMs });
  };
  const close = () => endClient(client, wire);
  try {
    const defaultSchema = await applySettings(query, options.limits);
    return {
      defaultSchema,
      isUsable: () => !wire.destroyed,
      query,
      queryAgain,
      queryAll,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Set by a statement, since poolers refuse connection parameters. UTC decides what a time without an offset means. The claim on
 * the checkpoint row relies on read committed. The timeouts make a frozen process lose its locks. Generic plans ignore the
 * values: copying the lists of a batch into plans takes a twelfth of its time.
 */
async function applySettings(query: Session['query'], { statementMs }: SessionLimits): Promise<string | null> {
  const [row] = await query<'schema'>(
    `select current_schema() as schema,
       set_config('timezone', 'UTC', false),
       set_config('datestyle', 'ISO, YMD', false),
       set_config('default_transaction_isolation', 'read committed', false),
       set_config('plan_cache_mode', 'force_generic_plan', false),
       ${durableCommitSql('session')},
       set_config('statement_timeout', $1, false),
       set_config('idle_in_transaction_session_timeout', $1, false)`,
    [String(statementMs)],
    settingsLimits,
  );
  return row?.schema ?? null;
}

async function endClient(client: pg.Client, wire: CheckedWire): Promise<void> {
  if (wire.destroyed) return;
  const cut = setTimeout(() => wire.destroy(), goodbyeMs);
  await client.end();
  clearTimeout(cut);
}
