import { type RawBuilder, sql } from 'kysely';
import type { EventConnection } from '../../../src/core/events/event-connection.ts';
import { namedRecordsMax, type QuarantinedRecord, recordsQuarantined } from '../../../src/core/events/record-events.ts';
import { runEnded, runStarted } from '../../../src/core/events/run-events.ts';
import type { RunRow } from '../../../src/core/resources/run.ts';
import type { Db } from '../../client.ts';
import { countRows } from '../../listing.ts';
import type { OrgScope } from '../../scope.ts';
import { awaitNextRun } from '../hooks/hook-requests.ts';
import { recordEvent } from '../webhooks/events.ts';
import { runColumns } from './run-columns.ts';

/** A run, and its connection as events show it. */
interface RunOfConnection {
  readonly run: RunRow;
  readonly connection: EventConnection;
}

/**
 * Records that a run has begun; the last act of the transaction in which it did. Returns how many endpoints the event is
 * queued for.
 */
export async function recordRunStarted(tx: Db, scope: OrgScope, runId: string): Promise<number> {
  const { cancelRequested: _, connection, ...run } = await findRunForEvent(tx, scope, runId);
  return await recordEvent(tx, scope, runStarted({ run, connection }));
}

/** Whether an endpoint of the org gets `run.started`; nobody gets it unless they name it. */
export const namesRunStarted = (orgId: RawBuilder<unknown>): RawBuilder<boolean> => sql<boolean>`exists (
  select from webhook_endpoints
  where webhook_endpoints.org_id = ${orgId} and deleted_at is null and 'run.started' = any(event_types))`;

/** Records how runs ended, as {@link recordRunEnd} does. Returns how many endpoints the events are queued for. */
export async function recordRunEnds(tx: Db, scope: OrgScope, runIds: readonly string[]): Promise<number> {
  let queuedFor = 0;
  for (const runId of runIds) {
    const { cancelRequested, connection, ...run } = await findRunForEvent(tx, scope, runId);
    queuedFor += await recordRunEnd(tx, scope, { run, connection, cancelRequested });
  }
  return queuedFor;
}

const findRunForEvent = (tx: Db, scope: OrgScope, runId: string) =>
  tx
    .selectFrom('runs')
    .select((eb) => [...runColumns(eb), cancelRequestedColumn, connectionColumn])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .executeTakeFirstOrThrow();

/** Whether somebody asked a run to stop. */
export const cancelRequestedColumn = sql<boolean>`cancel_requested_at is not null`.as('cancelRequested');

/** The connection of a run as events show it, also a deleted one. */
export const connectionColumn = sql<EventConnection>`(
  select jsonb_build_object('id', c.id, 'displayName', c.display_name, 'externalCustomerId', c.external_customer_id,
    'workspaceId', c.workspace_id, 'specKey', specs.key, 'pinnedSpecVersion', c.pinned_spec_version, 'status', c.status)
  from connections c join specs on specs.id = c.spec_id
  where c.id = runs.connection_id)`.as('connection');

/**
 * Records how a run ended, and before that what it quarantined. What hooks announced is tried again unless it was read:
 * a run that failed may have read all, one that its limits ended has not. It is the last act of the transaction that
 * ends the run. Returns how many endpoints the events are queued for.
 */
export async function recordRunEnd(
  tx: Db,
  scope: OrgScope,
  { run, connection, cancelRequested }: RunOfConnection & { readonly cancelRequested: boolean },
): Promise<number> {
  if (run.status !== 'succeeded' && !(await wasReadToItsEnd(tx, scope, run.id))) await awaitNextRun(tx, scope, run);
  const hasQuarantined = run.statsJson.quarantined > 0;
  const records = hasQuarantined ? await firstQuarantined(tx, scope, run.id) : [];
  const rejected = run.status === 'partial' && hasQuarantined ? await countRejected(tx, scope, run.id) : 0;
  const queued = hasQuarantined ? await recordEvent(tx, scope, recordsQuarantined({ run, connection, records })) : 0;
  return queued + (await recordEvent(tx, scope, runEnded({ run, connection, rejected, cancelRequested })));
}

async function wasReadToItsEnd(tx: Db, scope: OrgScope, runId: string): Promise<boolean> {
  const { readCompleted } = await tx
    .selectFrom('runs')
    .select('readCompleted')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', runId)
    .executeTakeFirstOrThrow();
  return readCompleted;
}

/** The first records that the run quarantined. */
function firstQuarantined(tx: Db, scope: OrgScope, runId: string): Promise<QuarantinedRecord[]> {
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
