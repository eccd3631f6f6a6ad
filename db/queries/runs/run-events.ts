import { sql } from 'kysely';
import { namedRecordsMax, recordsQuarantined, type SetAside } from '../../../src/core/events/record-events.ts';
import { runEnded, runStarted } from '../../../src/core/events/run-events.ts';
import type { RunRow } from '../../../src/core/resources/run.ts';
import type { Db } from '../../client.ts';
import { countRows } from '../../listing.ts';
import type { OrgScope } from '../../scope.ts';
import { findConnectionFacts } from '../connections/connection-facts.ts';
import { recordEvent } from '../webhooks/events.ts';
import { runColumns } from './run-columns.ts';

/**
 * Records that a run has begun; the last act of the transaction in which it did. Returns how many endpoints the event is
 * queued for.
 */
export async function recordRunStarted(tx: Db, scope: OrgScope, run: RunRow): Promise<number> {
  const connection = await findConnectionFacts(tx, scope, run.connectionId);
  return connection ? await recordEvent(tx, scope, runStarted({ run, connection })) : 0;
}

/** Records how runs ended, as {@link recordRunEnd} does. */
export async function recordRunEnds(tx: Db, scope: OrgScope, runIds: readonly string[]): Promise<void> {
  for (const runId of runIds) {
    const { cancelRequested, ...run } = await tx
      .selectFrom('runs')
      .select((eb) => [...runColumns(eb), cancelRequestedColumn])
      .where('orgId', '=', scope.orgId)
      .where('id', '=', runId)
      .executeTakeFirstOrThrow();
    await recordRunEnd(tx, scope, { run, cancelRequested });
  }
}

/** Whether somebody asked a run to stop. */
export const cancelRequestedColumn = sql<boolean>`cancel_requested_at is not null`.as('cancelRequested');

/**
 * Records how a run ended, and before it what it quarantined; the last act of the transaction in which it did. Returns how
 * many endpoints the events are queued for.
 */
export async function recordRunEnd(
  tx: Db,
  scope: OrgScope,
  { run, cancelRequested }: { readonly run: RunRow; readonly cancelRequested: boolean },
): Promise<number> {
  const connection = await findConnectionFacts(tx, scope, run.connectionId);
  if (!connection) return 0;
  const setsAside = run.statsJson.quarantined > 0;
  const records = setsAside ? await findSetAside(tx, scope, run.id) : [];
  const rejected = run.status === 'partial' && setsAside ? await countRejected(tx, scope, run.id) : 0;
  const queued = setsAside ? await recordEvent(tx, scope, recordsQuarantined({ run, connection, records })) : 0;
  return queued + (await recordEvent(tx, scope, runEnded({ run, connection, rejected, cancelRequested })));
}

/** The first records that the run quarantined. */
function findSetAside(tx: Db, scope: OrgScope, runId: string): Promise<SetAside[]> {
  return tx
    .selectFrom('quarantine')
    .select(['id', 'externalId', 'validationErrors'])
    .where('orgId', '=', scope.orgId)
    .where('runId', '=', runId)
    .orderBy('id')
    .limit(namedRecordsMax)
    .execute();
}

/** How many of the records that the run quarantined the destination refused. */
const countRejected = (tx: Db, scope: OrgScope, runId: string): Promise<number> =>
  countRows(
    tx
      .selectFrom('quarantine')
      .where('orgId', '=', scope.orgId)
      .where('runId', '=', runId)
      .where(sql<boolean>`validation_errors @> '[{"keyword": "destination"}]'`),
  );
