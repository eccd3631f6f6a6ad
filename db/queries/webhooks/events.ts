import { sql } from 'kysely';
import { type DomainEvent, eventIdOf, toEnvelope } from '../../../src/core/events/envelope.ts';
import { isDefaultEvent } from '../../../src/core/resources/event-types.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';

/**
 * Records an event, and puts it into the queue of every endpoint that is to be notified of it; `skipped` for those that
 * are switched off. Call it in the transaction that makes it true, as its last act: the lock on the connection's
 * sequence is held to the end. After the commit, wake the endpoints. Repeating it records nothing.
 *
 * @param exceptEndpointId the endpoint that it is about, which is not notified; null: it is about none.
 */
export async function recordEvent(
  tx: Db,
  scope: OrgScope,
  domainEvent: DomainEvent,
  exceptEndpointId: string | null = null,
): Promise<void> {
  const { orgId } = scope;
  const { type, workspaceId, connectionId } = domainEvent;
  if (await isRecorded(tx, scope, eventIdOf(orgId, domainEvent))) return;
  const sequence = connectionId === null ? null : await nextSequence(tx, scope, connectionId);
  const id = await insertEvent(tx, scope, { ...domainEvent, sequence });
  await sql`
    insert into webhook_messages (org_id, event_id, endpoint_id, status, next_attempt_at)
    select org_id, ${id}, id, case when enabled then 'pending' else 'skipped' end, case when enabled then now() end
    from webhook_endpoints
    where org_id = ${orgId} and deleted_at is null and id is distinct from ${exceptEndpointId}
      and case when event_types is null then ${isDefaultEvent(type)} else ${type} = any(event_types) end
      and (connection_ids is null or ${connectionId}::text = any(connection_ids))
      and (workspace_ids is null or ${workspaceId}::text = any(workspace_ids))`.execute(tx);
}

/** Stores an event that is in no queue and no sequence: for a test of one endpoint. Returns its id. */
export const storeTestEvent = (tx: Db, scope: OrgScope, domainEvent: DomainEvent): Promise<string> =>
  insertEvent(tx, scope, { ...domainEvent, sequence: null });

async function insertEvent(
  tx: Db,
  { orgId }: OrgScope,
  { sequence, ...domainEvent }: DomainEvent & { readonly sequence: number | null },
): Promise<string> {
  const { type, workspaceId, connectionId, runId } = domainEvent;
  const occurredAt = new Date().toISOString();
  const { id, payload, sha256 } = toEnvelope(domainEvent, { orgId, occurredAt, sequence });
  await tx
    .insertInto('webhookEvents')
    .values({ id, orgId, type, workspaceId, connectionId, runId, sequence, occurredAt, payload, payloadSha256: sha256 })
    .execute();
  return id;
}

async function isRecorded(tx: Db, scope: OrgScope, id: string): Promise<boolean> {
  const found = tx.selectFrom('webhookEvents').select('id').where('orgId', '=', scope.orgId).where('id', '=', id);
  return (await found.executeTakeFirst()) !== undefined;
}

async function nextSequence(tx: Db, scope: OrgScope, connectionId: string): Promise<number> {
  const { last } = await tx
    .insertInto('eventSequences')
    .values({ orgId: scope.orgId, connectionId, last: 1 })
    .onConflict((conflict) =>
      conflict.column('connectionId').doUpdateSet({ last: sql<number>`event_sequences.last + 1` }),
    )
    .returning('last')
    .executeTakeFirstOrThrow();
  return last;
}

/** Endpoints of the org that something can be sent to now. */
export async function findDueEndpoints(db: Db, scope: OrgScope): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from webhook_endpoints
    where org_id = ${scope.orgId} and deleted_at is null and (
      webhook_endpoint_due_at(webhook_endpoints) <= now()
      or exists (
        select 1 from webhook_deliveries
        where endpoint_id = webhook_endpoints.id and state = 'queued'))`.execute(db);
  return rows.map((row) => row.id);
}
