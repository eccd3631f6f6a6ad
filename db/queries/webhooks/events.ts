import { sql } from 'kysely';
import { type DomainEvent, eventIdOf, toEnvelope } from '../../../src/core/events/envelope.ts';
import { isDefaultEvent } from '../../../src/core/resources/event-types.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { type Placeholders, statement } from '../../statement.ts';

/**
 * Records an event, and puts it into the queue of every endpoint that is to be notified of it; `skipped` for those that
 * are switched off. Call it in the transaction that makes it true, as its last act: the lock on the connection's
 * sequence is held to the end. After the commit, wake the endpoints. Repeating it records nothing.
 *
 * @param exceptEndpointId the endpoint that it is about, which is not notified; null: it is about none.
 * @returns how many endpoints it is queued for; 0: nobody has to be woken.
 */
export async function recordEvent(
  tx: Db,
  scope: OrgScope,
  domainEvent: DomainEvent,
  exceptEndpointId: string | null = null,
): Promise<number> {
  const { orgId } = scope;
  const { type, workspaceId, connectionId, runId } = domainEvent;
  const id = eventIdOf(orgId, domainEvent);
  let sequence: number | null = null;
  if (connectionId === null) {
    if (await isRecorded(tx, scope, id)) return 0;
  } else {
    const [next] = await takeSequence(tx, { orgId, connectionId, id });
    if (!next) return 0;
    sequence = next.last;
  }
  const occurredAt = new Date().toISOString();
  const { payload, sha256 } = toEnvelope(domainEvent, { orgId, occurredAt, sequence });
  const isDefault = isDefaultEvent(type);
  const event = { orgId, id, type, workspaceId, connectionId, runId, sequence, occurredAt, payload, sha256 };
  return (await insertEventAndMessages(tx, { ...event, isDefault, exceptEndpointId })).length;
}

/** The next number in the sequence of a connection; no row: the event is recorded already. */
const takeSequence = statement(
  (_, v: Placeholders<{ readonly orgId: string; readonly connectionId: string; readonly id: string }>) =>
    sql<{ readonly last: number }>`
      insert into event_sequences (org_id, connection_id, last)
      select ${v.orgId}, ${v.connectionId}, 1
      where not exists (select 1 from webhook_events where org_id = ${v.orgId} and id = ${v.id})
      on conflict (connection_id) do update set last = event_sequences.last + 1
      returning last`,
);

interface NewEvent {
  readonly orgId: string;
  readonly id: string;
  readonly type: string;
  readonly workspaceId: string | null;
  readonly connectionId: string | null;
  readonly runId: string | null;
  readonly sequence: number | null;
  readonly occurredAt: string;
  readonly payload: Buffer;
  readonly sha256: Buffer;
  /** Endpoints that name no types get it. */
  readonly isDefault: boolean;
  /** An endpoint that does not get it; null: none. */
  readonly exceptEndpointId: string | null;
}

/** One row for each endpoint that gets the event. */
const insertEventAndMessages = statement(
  (_, v: Placeholders<NewEvent>) => sql`
    with event as (
      insert into webhook_events (
        id, org_id, type, workspace_id, connection_id, run_id, sequence, occurred_at, payload, payload_sha256)
      values (${v.id}, ${v.orgId}, ${v.type}, ${v.workspaceId}, ${v.connectionId}, ${v.runId}, ${v.sequence},
        ${v.occurredAt}, ${v.payload}, ${v.sha256})
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
    returning event_id`,
);

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

/** An event without its payload. */
export interface EventLine {
  readonly id: string;
  readonly type: string;
  readonly runId: string | null;
  readonly occurredAt: string;
}

/** The newest events of a connection that are among the newest 2000 of its org, newest first. */
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
