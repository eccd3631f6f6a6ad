/**
 * Rows in a customer's PostgreSQL. A session (session.ts) checks each message of the server before the driver reads it (wire.ts,
 * frames.ts). `open` claims the checkpoint row and creates or checks the table; `apply` writes rows and receipt in one
 * transaction (batch.ts).
 */

import type { EgressGuard } from '../../http/egress.ts';
import type { RejectedRow } from '../../model/batch.ts';
import type { Destination, LaneClaim, LastBatch } from '../destination.ts';
import type { DestinationOptions } from '../sql/address-fields.ts';
import { checkTable, prepareTable } from '../sql/prepare-table.ts';
import { type AdmittedFields, admitFields } from '../sql/record-fields.ts';
import { encodeRows } from '../sql/record-rows.ts';
import { type BatchRows, type LaneBatch, type OpenedFields, sqlDestination } from '../sql/sql-destination.ts';
import { parsePostgresAddress } from './address.ts';
import { columnArrays } from './arrays.ts';
import { writeBatch } from './batch.ts';
import type { PostgresBatch } from './batch-write.ts';
import { claimLane, peekLane } from './checkpoint.ts';
import type { SessionLimits } from './connect.ts';
import { toAppError } from './errors.ts';
import { fieldKind, type PostgresFields, postgresFields } from './fields.ts';
import { findLeftovers } from './leftovers.ts';
import { idIssue } from './rows.ts';
import { tableKind } from './schema.ts';
import { openSession, type Session } from './session.ts';
import { withConflictRetries } from './transaction.ts';

export interface PostgresDeps {
  readonly guard: Pick<EgressGuard, 'vetHost'>;
  readonly orgId: string;
  /** Milliseconds the server may take; by default a minute per statement. */
  readonly limits?: SessionLimits;
}

/** 10 s to connect is the bound of every outbound database; 5,000 rows take a fraction of a second. */
const defaultLimits: SessionLimits = { connectMs: 10_000, statementMs: 60_000 };

/**
 * PostgreSQL 12 or later; the checkpoint row is written in the same transaction as the rows.
 *
 * Throws `destination_rejected` at once when the options cannot work; connects later.
 */
export function openPostgres(options: DestinationOptions, deps: PostgresDeps): Destination {
  const address = parsePostgresAddress(options);
  const limits = deps.limits ?? defaultLimits;
  const { orgId } = deps;
  return sqlDestination({
    connect: () => openSession(address, { guard: deps.guard, limits }),
    openLane: (session, claim, written) => openLane(session, claim, { written, orgId }),
    checkTable: (session, target) => checkTable(tableKind(session, orgId), target),
    peekLane: peek,
    leftovers: findLeftovers,
    admit: (session, { rows, fields, target }) =>
      withConflictRetries(session, () =>
        admitFields({ map: fields, rows, evolve: target.evolve }, fieldKind(session, orgId)),
      ),
    encode,
    write,
    toAppError,
  });
}

async function openLane(
  session: Session,
  claim: LaneClaim,
  { written, orgId }: { readonly written: readonly string[] | null; readonly orgId: string },
): Promise<OpenedFields<PostgresFields>> {
  const prepared = await withConflictRetries(session, () => prepareTable(tableKind(session, orgId), claim));
  const opened = await withConflictRetries(session, () => claimLane(session, prepared, claim));
  return { fields: postgresFields(prepared, { target: claim.target, written }), opened };
}

/** An older lane may be in the former schema. */
async function peek(session: Session, { lane, target }: Pick<LaneClaim, 'lane' | 'target'>): Promise<LastBatch | null> {
  const found = await peekLane(session, target.schema, lane);
  return found ?? (target.formerSchema === undefined ? null : await peekLane(session, target.formerSchema, lane));
}

async function encode(
  { rows, fields, target }: BatchRows<PostgresFields>,
  refused: AdmittedFields<PostgresFields>['refused'],
): Promise<PostgresBatch> {
  const isPartial = target.mode === 'update';
  const { encoded, rejected } = await encodeRows(rows, { writers: fields.writers, refused, isPartial, idIssue });
  return { encoded, rejected, arrays: await columnArrays(encoded) };
}

const write = (
  session: Session,
  { claim, fields, encoded, ...rest }: LaneBatch<PostgresFields, PostgresBatch>,
): Promise<readonly RejectedRow[]> => writeBatch(session, { ...claim, ...encoded, ...rest, map: fields });
