import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { type DomainEvent, type Envelope, toEnvelope } from '../../../src/core/events/envelope.ts';
import { isDefaultEvent } from '../../../src/core/resources/event-types.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { type Placeholders, statement } from '../../statement.ts';

/**
 * Records an event, and a message for every endpoint that is to be notified; `skipped` for those that are disabled. Call it in
 * the transaction that makes it true, as its last act: the lock on the connection's sequence is held to the end. After the
 * commit, wake the endpoints. Repeating it records nothing.
 *
 * @param exceptEndpointId the endpoint that it is about, which is not notified.
 * @returns the number of messages, skipped ones included; `0` if no endpoint is to be woken.
 */
export async function recordEvent(
  tx: Db,
  scope: OrgScope,
  domainEvent: DomainEvent,
  exceptEndpointId: string | null = null,
): Promise<number> {
  const event = newEvent(scope, domainEvent);
  const isDefault = isDefaultEvent(event.type);
  return (await insertEventAndMessages(tx, { ...event, isDefault, exceptEndpointId })).length;
}

interface NewEvent extends Envelope, Pick<DomainEvent, 'type' | 'workspaceId' | 'connectionId' | 'runId'> {
  readonly orgId: string;
  readonly occurredAt: string;
}

function newEvent({ orgId }: OrgScope, domainEvent: DomainEvent): NewEvent {
  const { type, workspaceId, connectionId, runId } = domainEvent;
  const occurredAt = new Date().toISOString();
  const envelope = toEnvelope(domainEvent, { orgId, occurredAt });
  return { ...envelope, orgId, type, workspaceId, connectionId, runId, occurredAt };
}

interface EventForEndpoints extends NewEvent {
  /** Whether endpoints that name no types get it. */
  readonly isDefault: boolean;
  readonly exceptEndpointId: string | null;
}

/**
 * Takes the next number of its connection. It waits for an endpoint that is being deleted or disabled, and takes it as that
 * transaction left it (`closeToEvents`).
 */
const insertEventAndMessages = statement(
  (_, v: Placeholders<EventForEndpoints>) => sql`
    with unrecorded as (
      select ${v.connectionId}::text as connection_id
      where not exists (select from webhook_events where org_id = ${v.orgId} and id = ${v.id})),
    next as (
      insert into event_sequences (org_id, connection_id, last)
      select ${v.orgId}, connection_id, 1 from unrecorded where connection_id is not null
      on conflict (connection_id) do update set last = event_sequences.last + 1
      returning last),
    event as (
      insert into webhook_events (
        id, org_id, type, workspace_id, connection_id, run_id, sequence, occurred_at, payload, payload_sha256)
      select ${v.id}, ${v.orgId}, ${v.type}, ${v.workspaceId}, connection_id, ${v.runId}, last,
        ${v.occurredAt}::timestamptz, payload, sha256(payload)
      from unrecorded left join next on true,
        lateral (
          select convert_to(${v.beforeSequence}::text || coalesce(last::text, 'null') || ${v.afterSequence}::text, 'UTF8') as payload)
          made
      returning id)
    insert into webhook_messages (org_id, event_id, endpoint_id, status, next_attempt_at)
    select org_id, event.id, webhook_endpoints.id, case when enabled then 'pending' else 'skipped' end,
      case when enabled then now() end
    from event, webhook_endpoints
    where org_id = ${v.orgId} and deleted_at is null
      and webhook_endpoints.id is distinct from ${v.exceptEndpointId}::text
      and case when event_types is null then ${v.isDefault}::bool else ${v.type}::text = any(event_types) end
      and (connection_ids is null or ${v.connectionId}::text = any(connection_ids))
      and (workspace_ids is null or ${v.workspaceId}::text = any(workspace_ids))
    for key share of webhook_endpoints
    returning event_id`,
);

/** Stores an event without a queue and a sequence, for a test of one endpoint. */
export async function storeTestEvent(tx: Db, scope: OrgScope, domainEvent: DomainEvent): Promise<string> {
  const { beforeSequence, afterSequence, ...event } = newEvent(scope, domainEvent);
  const payload = Buffer.from(`${beforeSequence}null${afterSequence}`);
  const payloadSha256 = createHash('sha256').update(payload).digest();
  await tx
    .insertInto('webhookEvents')
    .values({ ...event, sequence: null, payload, payloadSha256 })
    .execute();
  return event.id;
}

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

export interface EventLine {
  readonly id: string;
  readonly type: string;
  readonly runId: string | null;
  readonly occurredAt: string;
}

/** Only events among the newest 2000 of the org. */
export async function findRecentEvents(
  db: Db,
  scope: OrgScope,
  { connectionId, limit }: { readonly connectionId: string; readonly limit: number },
): Promise<readonly EventLine[]> {
  const { rows } = await sql<EventLine>`
    select id, type, run_id, occurred_at from (
      select id, type, run_id, occurred_at, connection_id, sequence from webhook_events
      where org_id = ${scope.orgId} order by occurred_at desc limit 2000) newest
    where connection_id = ${connectionId} order by occurred_at desc, sequence desc limit ${limit}`.execute(db);
  return rows;
}

/** More than any connection has sent since a backup of the control database. */
const sequenceGap = 1_000_000;

/**
 * A restored database does not know which numbers were sent since its backup, under other ids. Continues behind a gap, across
 * orgs; returns the number of connections with events.
 */
export async function advanceSequences(db: Db): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('eventSequences')
    .set((eb) => ({ last: eb('last', '+', sequenceGap) }))
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
