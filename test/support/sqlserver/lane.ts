/**
 * A SQL Server that remembers, as far as deliveries in mode upsert need one: what a session has staged goes with it, a
 * batch is applied in one step or not at all, a checkpoint row is compared as the statements say, and one session at a
 * time changes the tables.
 */
import type { CountedDestination } from '../destinations/audit.ts';
import { eventually } from '../service/eventually.ts';
import type { CatalogOptions } from './catalog.ts';
import { bytesInRow, rowBytesMax } from './row-size.ts';
import { isBatch } from './script.ts';
import { createLaneTables, type LaneTables, type StagedRow } from './tables.ts';
import { type RequestReply, startTdsFake, type TdsFake, type TdsScript, type TdsSession } from './tds-fake.ts';
import type { TdsRequest } from './tds-requests.ts';

/** A moment of a delivery: part of a bulk copy is here, a batch came, a batch was executed and has no response yet. */
type Moment = 'copying' | 'asked' | 'executed';

/** A moment that lasts until the test ends it. */
interface MomentGate {
  readonly reached: Promise<void>;
  /** Unless `anyway`, a server that lost its client meanwhile does not go on. */
  release(how?: 'anyway'): void;
}

/** The server, as a destination of a sync. */
export interface LaneServer extends CountedDestination, Pick<LaneTables, 'rows'> {
  readonly port: number;
  /** Holds the nth of such moments, from now on. */
  hold(moment: Moment, nth: number): MomentGate;
  /** Bulk copies whose connection ended before they did. */
  readonly brokenCopies: () => number;
  /** Batches that were executed and found their lane taken, or themselves applied. */
  readonly refused: () => number;
}

/** What a test decides. */
export interface LaneServerOptions extends CatalogOptions {
  /** A free one unless given. */
  readonly port?: number;
  readonly tls?: NonNullable<TdsScript['tls']>;
}

/** Starts an empty server on 127.0.0.1. */
export async function startLaneServer({ port = 0, tls, ...options }: LaneServerOptions = {}): Promise<LaneServer> {
  const tables = createLaneTables(options);
  const { hold, pass } = createGates();
  const takeLock = createLock();
  let sessions = 0;
  let brokenCopies = 0;
  let refused = 0;
  const session = (): TdsSession => {
    sessions += 1;
    return createSession(tables, {
      pass,
      takeLock,
      refused: () => {
        refused += 1;
      },
      ended: (isCopying) => {
        sessions -= 1;
        brokenCopies += Number(isCopying);
      },
    });
  };
  const fake: TdsFake = await startTdsFake({ session, ...(tls && { tls }) }, { port });
  let audited = '';
  return {
    port: fake.port,
    declared: {
      kind: 'sqlserver',
      host: '127.0.0.1',
      port: fake.port,
      database: 'shop',
      user: 'sync',
      password: '{{ secrets.destination }}',
      encrypt: false,
    },
    secret: 'very-secret',
    hold,
    brokenCopies: () => brokenCopies,
    refused: () => refused,
    rows: tables.rows,
    count: async (table) => tables.rows(table).length,
    // Every write is in the journal from the start.
    async audit(table) {
      audited = table;
    },
    async writes() {
      const made = tables.writes.filter(({ table }) => table === audited);
      const by = (wanted: string) => made.filter(({ operation }) => operation === wanted);
      const rows = new Set(by('insert').map(({ externalId }) => externalId)).size;
      return { rows, inserts: by('insert').length, updates: by('update').length, deletes: by('delete').length };
    },
    quiet: async () => {
      await eventually('no session is left', async () => sessions === 0, { everyMs: 20 });
    },
    [Symbol.asyncDispose]: () => fake[Symbol.asyncDispose](),
  };
}

interface SessionPlan {
  readonly pass: (moment: Moment) => Promise<'anyway' | undefined>;
  /** Takes the lock of a transaction that changes tables; what is returned gives it back. */
  readonly takeLock: () => Promise<() => void>;
  readonly refused: () => void;
  readonly ended: (isCopying: boolean) => void;
}

function createSession(tables: LaneTables, { pass, takeLock, refused, ended }: SessionPlan): TdsSession {
  const staged = new Map<string, readonly StagedRow[]>();
  let copied = { table: '', columns: [] as readonly CopiedColumn[] };
  let isOver = false;
  let unlock = () => {};

  const stage = (rows: readonly (readonly unknown[])[]): RequestReply => {
    const { table, columns } = copied;
    const isTooWide = rows.some(
      (row) => bytesInRow(columns.map(({ type }, index) => [type, row[index]])) > rowBytesMax,
    );
    if (isTooWide) return { number: 511, message: `Cannot create a row of size 9000 which is greater than 8060.` };
    staged.set(
      table,
      rows.map((row) =>
        Object.fromEntries(columns.map(({ name }, index) => [name, row[index] as string | number | null])),
      ),
    );
    return [];
  };

  const execute = async (request: Exclude<TdsRequest, { kind: 'load' }>): Promise<RequestReply> => {
    if (request.sql.includes('sp_getapplock')) unlock = await takeLock();
    if (isOver || /^\s*(commit|if @@trancount > 0 rollback) transaction;/.test(request.sql)) unlock();
    if (!isBatch(request)) return tables.execute(request, staged);
    const how = await pass('asked');
    if (isOver && how !== 'anyway') return 'cut';
    const reply = tables.execute(request, staged);
    if (Array.isArray(reply) && reply[0]?.outcome === 'lost') refused();
    await pass('executed');
    return reply;
  };

  return {
    copying: async () => {
      await pass('copying');
    },
    async request(request) {
      if (request.kind === 'load') return stage(request.rows);
      const [, dropped] = /drop table if exists (#\w+)/.exec(request.sql) ?? [];
      if (dropped !== undefined) staged.delete(dropped);
      const [, table, columns = ''] = /insert bulk \[?(#\w+)\]?\s*\((.*)\)/.exec(request.sql) ?? [];
      if (table !== undefined) {
        const found = [...columns.matchAll(/\[(\w+)\] (\w+(?:\(\w+\))?)/g)];
        copied = { table, columns: found.map(([, name = '', type = '']) => ({ name, type })) };
      }
      return execute(request);
    },
    ended(isCopying) {
      isOver = true;
      unlock();
      ended(isCopying);
    },
  };
}

/** A lock that is given in the order in which it is asked for. */
function createLock(): SessionPlan['takeLock'] {
  let last = Promise.resolve();
  return async () => {
    const before = last;
    const { promise, resolve } = Promise.withResolvers<void>();
    last = promise;
    await before;
    return resolve;
  };
}

interface CopiedColumn {
  readonly name: string;
  /** As SQL. */
  readonly type: string;
}

interface HeldMoment {
  readonly moment: Moment;
  left: number;
  readonly arrive: () => void;
  readonly opened: Promise<'anyway' | undefined>;
}

function createGates() {
  const gates: HeldMoment[] = [];
  return {
    hold(moment: Moment, nth: number): MomentGate {
      const arrival = Promise.withResolvers<void>();
      const opening = Promise.withResolvers<'anyway' | undefined>();
      gates.push({ moment, left: nth, arrive: arrival.resolve, opened: opening.promise });
      return { reached: arrival.promise, release: (how) => opening.resolve(how) };
    },
    async pass(moment: Moment): Promise<'anyway' | undefined> {
      const held = gates.filter((gate) => gate.moment === moment);
      for (const gate of held) gate.left -= 1;
      const here = held.find(({ left }) => left === 0);
      here?.arrive();
      return await here?.opened;
    },
  };
}
