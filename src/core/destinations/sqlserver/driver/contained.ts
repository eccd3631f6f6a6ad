import type { EgressGuard } from '../../../http/egress.ts';
import type { SqlServerAddress, SqlServerLogin } from '../address.ts';
import { endsConnection } from '../server-error.ts';
import { leaseDriver } from './drivers.ts';
import { type Command, cancelMs } from './messages.ts';
import type { Load, Session, SessionLimits, Value } from './session.ts';
import { guardedSockets } from './sockets.ts';

interface ContainedOptions {
  readonly login: SqlServerLogin;
  readonly guard: Pick<EgressGuard, 'vetHost'>;
  readonly orgId: string;
  readonly limits: SessionLimits;
}

/** Ten million rows take a few minutes. */
const queryAllMs = 30 * 60_000;

/** Milliseconds beyond the driver's own timers, which a server can stop, before its process is ended. */
const graceMs = 2000;

/**
 * The driver runs, and reads the server's bytes, in a process of its own. Sockets are opened here, by the guard. Every session is
 * alike, independent of the server's settings.
 */
export async function openSession(
  address: SqlServerAddress,
  { login, guard, orgId, limits }: ContainedOptions,
): Promise<Session> {
  const { child, release } = await leaseDriver(orgId);
  let isReleased = false;
  const end = async (): Promise<void> => {
    isReleased = true;
    await release();
  };
  const ask = async (command: Command, options: Parameters<typeof child.ask>[1]): Promise<readonly unknown[]> => {
    if (isReleased) throw Object.assign(new Error('The session is closed'), { code: 'ECLOSE' });
    try {
      return await child.ask(command, options);
    } catch (error) {
      if (endsConnection(error)) await end();
      throw error;
    }
  };
  const statementMs = (timeoutMs: number): number => timeoutMs + cancelMs + graceMs;
  const run = async <Row>(query: Omit<Extract<Command, { type: 'query' }>, 'type'>): Promise<readonly Row[]> =>
    (await ask({ type: 'query', ...query }, { timeoutMs: statementMs(query.timeoutMs) })) as readonly Row[];

  const session: Session = {
    isUsable: () => !isReleased && child.isConnected(),
    query: (sql, values) => run({ sql, values, timeoutMs: limits.statementMs }),
    queryAll: (sql, values) => run({ sql, values, timeoutMs: queryAllMs }),
    async load({ table, columns, rows }) {
      const timeoutMs = statementMs(limits.statementMs);
      await ask({ type: 'load', table, columns }, { timeoutMs, parts: partsOf(rows) });
    },
    [Symbol.asyncDispose]: end,
  };
  try {
    await ask(
      { type: 'open', address, login, limits },
      {
        timeoutMs: limits.connectMs + graceMs,
        openSocket: guardedSockets({ guard, encrypt: address.encrypt !== false }),
      },
    );
    await session.query(settingsSql(limits.lockMs));
    return session;
  } catch (error) {
    await end();
    throw error;
  }
}

/** Approximate characters passed to the driver at once, so that its process holds only a small part of a batch. */
const partLength = 1_000_000;

function* partsOf(rows: Load['rows']): Generator<Load['rows']> {
  let part: (readonly Value[])[] = [];
  let length = 0;
  for (const row of rows) {
    part.push(row);
    for (const value of row) length += typeof value === 'string' ? value.length : 8;
    if (length < partLength) continue;
    yield part;
    part = [];
    length = 0;
  }
  if (part.length > 0) yield part;
}

/**
 * The driver sets the rest at login (read committed, ANSI settings, language, date format, xact_abort). Settings that the claim
 * on the checkpoint row relies on are repeated here.
 */
const settingsSql = (lockMs: number): string => `
  set nocount on;
  set xact_abort on;
  set implicit_transactions off;
  set transaction isolation level read committed;
  set lock_timeout ${lockMs};`;
