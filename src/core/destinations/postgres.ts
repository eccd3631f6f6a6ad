import type { EgressGuard } from '../http/egress.ts';
import type { Batch, Destination, LaneClaim, OpenedLane, RejectedRow } from './destination.ts';
import { parsePostgresAddress } from './postgres-address.ts';
import { writeBatch } from './postgres-batch.ts';
import { claimLane } from './postgres-checkpoint.ts';
import type { SessionLimits } from './postgres-connect.ts';
import { tableSql } from './postgres-definitions.ts';
import { toAppError } from './postgres-errors.ts';
import { admitFields, type FieldMap, initialFields } from './postgres-fields.ts';
import { encodeRows } from './postgres-rows.ts';
import { prepareTable } from './postgres-schema.ts';
import { openSession, type Session } from './postgres-session.ts';
import { withConflictRetries } from './postgres-transaction.ts';

/** What a postgres destination is given from outside. */
export interface PostgresDeps {
  readonly guard: Pick<EgressGuard, 'vetHost'>;
  /** Milliseconds the server may take; a minute per statement unless given. */
  readonly limits?: SessionLimits;
}

/** 10 s to connect is the bound of every outbound database; 5,000 rows take a fraction of a second. */
const defaultLimits: SessionLimits = { connectMs: 10_000, statementMs: 60_000 };

/**
 * Rows in a customer's PostgreSQL (12 or later): one connection, one table, one checkpoint row per lane in the same
 * transaction as the rows.
 *
 * Throws `destination_rejected` at once when the options cannot work; connects at `open`.
 */
export function openPostgres(options: Readonly<Record<string, unknown>>, deps: PostgresDeps): Destination {
  const address = parsePostgresAddress(options);
  const limits = deps.limits ?? defaultLimits;
  let session: Session | null = null;
  let held: HeldLane | null = null;

  const close = async () => {
    const ending = session;
    session = null;
    held = null;
    await ending?.[Symbol.asyncDispose]();
  };

  return {
    async open(claim) {
      return translated(async () => {
        if (!session?.isUsable()) await close();
        session ??= await openSession(address, { guard: deps.guard, limits });
        const { map, opened } = await openLane(session, claim);
        held = { claim, map, gathers: opened.checkpoint?.runId ?? null };
        return opened;
      });
    },
    async apply(batch) {
      if (!session || !held) throw new Error('apply needs a lane that open has claimed');
      const lane = held;
      const current = session;
      return translated(() => applyBatch(current, { lane, batch }));
    },
    [Symbol.asyncDispose]: close,
  };
}

/** The lane that a destination holds; the map grows with the fields that batches bring. */
interface HeldLane {
  readonly claim: LaneClaim;
  map: FieldMap;
  /** The run whose batch was applied last: in mode replace the one that gathers. Null: none. */
  gathers: string | null;
}

async function openLane(
  session: Session,
  claim: LaneClaim,
): Promise<{ readonly map: FieldMap; readonly opened: OpenedLane }> {
  const prepared = await withConflictRetries(() => prepareTable(session, claim.target));
  const { schema, written } = prepared;
  const place = { schema, table: tableSql(schema, written) };
  const opened = await withConflictRetries(() => claimLane(session, place, claim));
  return { map: initialFields(prepared, claim.target), opened };
}

async function applyBatch(
  session: Session,
  { lane, batch }: { readonly lane: HeldLane; readonly batch: Batch },
): Promise<readonly RejectedRow[]> {
  const { claim } = lane;
  const { rows, runId } = batch;
  const { mode } = claim.target;
  const { map, refused } = await withConflictRetries(() =>
    admitFields(session, { map: lane.map, rows, evolve: claim.target.evolve }),
  );
  lane.map = map;
  const { encoded, rejected } = encodeRows(rows, { writers: map.writers, refused, isPartial: mode === 'update' });
  const opensGeneration = mode === 'replace' && lane.gathers !== runId;
  const write = { ...claim, map, batch, encoded, rejected, opensGeneration };
  const allRejected = await withConflictRetries(() => writeBatch(session, write));
  lane.gathers = runId;
  return allRejected;
}

async function translated<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw toAppError(error);
  }
}
