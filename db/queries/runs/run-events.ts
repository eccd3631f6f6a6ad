import { sql } from 'kysely';
import type { EventConnection } from '../../../src/core/events/event-connection.ts';
import { namedRecordsMax, recordsQuarantined, type SetAside } from '../../../src/core/events/record-events.ts';
import { runEnded, runStarted } from '../../../src/core/events/run-events.ts';
import type { Db } from '../../client.ts';
import { countRows } from '../../listing.ts';
import type { OrgScope } from '../../scope.ts';
import { findConnectionFacts } from '../connections/connection-facts.ts';
import { recordEvent } from '../webhooks/events.ts';
import { runColumns } from './run-columns.ts';

/** Records that a run has begun; the last act of the transaction in which it did. */
export async function recordRunStarted(tx: Db, scope: OrgScope, runId: string): Promise<void> {
  const { run, connection } = await findFacts(tx, scope, runId);
  if (connection) await recordEvent(tx, scope, runStarted({ run, connection }));
}

/** Records how runs ended, and before it what they quarantined; the last act of the transaction in which they did. */
export async function recordRunEnds(tx: Db, scope: OrgScope, runIds: readonly string[]): Promise<void> {
  for (const runId of runIds) {
    const { run, cancelRequested, connection } = await findFacts(tx, scope, runId);
    if (!connection) continue;
    const setsAside = run.statsJson.quarantined > 0;
    const records = setsAside ? await findSetAside(tx, scope, runId) : [];
    const rejected = run.status === 'partial' && setsAside ? await countRejected(tx, scope, runId) : 0;
    if (setsAside) await recordEvent(tx, scope, recordsQuarantined({ run, connection, records }));
    await recordEvent(tx, scope, runEnded({ run, connection, rejected, cancelRequested }));
  }
}

async function findFacts(tx: Db, scope: OrgScope, runId: string) {
  const { cancelRequested, ...run } = await tx
    .selectFrom('runs')
    .select((eb) => [...runColumns(eb), sql<boolean>`cancel_requested_at is not null`.as('cancelRequested')])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .executeTakeFirstOrThrow();
  const connection: EventConnection | undefined = await findConnectionFacts(tx, scope, run.connectionId);
  return { run, cancelRequested, connection };
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
