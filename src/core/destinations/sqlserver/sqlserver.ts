/**
 * Rows in a customer's SQL Server. The driver runs in a child process (driver/), which the server's bytes cannot leave. `open`
 * claims the checkpoint row and creates or checks the table. `apply` loads the rows into a temporary table and writes them with
 * the receipt in one transaction (batch.ts).
 */

import type { RejectedRow } from '../../model/batch.ts';
import type { Destination, LaneClaim } from '../destination.ts';
import type { DestinationOptions } from '../sql/address-fields.ts';
import { checkTable, prepareTable } from '../sql/prepare-table.ts';
import { type AdmittedFields, admitFields } from '../sql/record-fields.ts';
import { encodeRows } from '../sql/record-rows.ts';
import { type BatchRows, type LaneBatch, type OpenedFields, sqlDestination } from '../sql/sql-destination.ts';
import { parseSqlServerAddress } from './address.ts';
import { writeBatch } from './batch.ts';
import type { SqlServerBatch } from './batch-write.ts';
import { claimLane } from './checkpoint.ts';
import type { EntraDeps } from './driver/entra.ts';
import { logIn } from './driver/login.ts';
import type { Session, SessionLimits } from './driver/session.ts';
import { toAppError } from './errors.ts';
import { fieldKind, type SqlServerFields, sqlServerFields } from './fields.ts';
import { findLeftovers } from './leftovers.ts';
import { idIssue } from './rows.ts';
import { tableKind } from './schema.ts';
import { withConflictRetries } from './transaction.ts';

export interface SqlServerDeps extends EntraDeps {
  /** Milliseconds the server may take; by default a minute per request. */
  readonly limits?: SessionLimits;
}

/** 10 s to connect is the bound of every outbound database; 5,000 rows take a fraction of a second. */
const defaultLimits: SessionLimits = { connectMs: 10_000, statementMs: 60_000, lockMs: 10_000 };

/**
 * SQL Server 2017 or later, Azure SQL, or Babelfish 4; the checkpoint row is written in the same transaction as the rows.
 *
 * Throws `destination_rejected` at once when the options cannot work; connects later.
 */
export function openSqlServer(options: DestinationOptions, deps: SqlServerDeps): Destination {
  const parsed = parseSqlServerAddress(options);
  const limits = deps.limits ?? defaultLimits;
  const { orgId } = deps;
  return sqlDestination({
    connect: () => logIn(parsed, { ...deps, limits }),
    openLane: (session, claim, written) => openLane(session, claim, { written, orgId }),
    checkTable: (session, target) => checkTable(tableKind(session, orgId), target),
    // No `peekLane`: only the request that claims a lane returns its checkpoint row (checkpoint.ts). `reconcile` names such lanes
    // as not compared (docs/adr/0051-a-restored-ledger-is-behind.md).
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
): Promise<OpenedFields<SqlServerFields>> {
  const prepared = await withConflictRetries(session, () => prepareTable(tableKind(session, orgId), claim));
  const opened = await withConflictRetries(session, () => claimLane(session, prepared, claim));
  return { fields: sqlServerFields(prepared, { target: claim.target, written }), opened };
}

function encode(
  { rows, fields, target }: BatchRows<SqlServerFields>,
  refused: AdmittedFields<SqlServerFields>['refused'],
): Promise<SqlServerBatch> {
  const isPartial = target.mode === 'update';
  return encodeRows(rows, { writers: fields.writers, refused, isPartial, idIssue });
}

const write = (
  session: Session,
  { claim, fields, encoded, ...rest }: LaneBatch<SqlServerFields, SqlServerBatch>,
): Promise<readonly RejectedRow[]> => writeBatch(session, { ...claim, ...encoded, ...rest, map: fields });
