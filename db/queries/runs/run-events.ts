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

interface RunOfConnection {
  readonly run: RunRow;
  readonly connection: EventConnection;
}

/** The last act of the transaction in which the run begins; returns the number of messages. */
export async function recordRunStarted(tx: Db, scope: OrgScope, runId: string): Promise<number> {
  const { cancelRequested: _, connection, ...run } = await findRunForEvent(tx, scope, runId);
  return await recordEvent(tx, scope, runStarted({ run, connection }));
}

/** An endpoint gets `run.started` only if it names it. */
export const namesRunStarted = (orgId: RawBuilder<unknown>): RawBuilder<boolean> => sql<boolean>`exists (
  select from webhook_endpoints
  where webhook_endpoints.org_id = ${orgId} and deleted_at is null and 'run.started' = any(event_types))`;

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

export const cancelRequestedColumn = sql<boolean>`cancel_requested_at is not null`.as('cancelRequested');

/** Also of a deleted connection. */
export const connectionColumn = sql<EventConnection>`(
  select jsonb_build_object('id', c.id, 'displayName', c.display_name, 'externalCustomerId', c.external_customer_id,
    'workspaceId', c.workspace_id, 'specKey', specs.key, 'pinnedSpecVersion', c.pinned_spec_version, 'status', c.status)
  from connections c join specs on specs.id = c.spec_id
  where c.id = runs.connection_id)`.as('connection');

/**
 * The last act of the transaction that ends the run; returns the number of messages. Hook requests are retried unless they were
 * read: a run that failed may have read all, one that its limits ended has not.
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

const countRejected = (tx: Db, scope: OrgScope, runId: string): Promise<number> =>
  countRows(
    tx
      .selectFrom('quarantine')
      .where('orgId', '=', scope.orgId)
      .where('runId', '=', runId)
      .where(sql<boolean>`validation_errors @> '[{"keyword": "destination"}]'`),
  );
