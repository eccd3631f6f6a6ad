import { sql } from 'kysely';
import { newId } from '../../../src/core/ids.ts';
import { eventTypes, isDefaultEvent } from '../../../src/core/resources/event-types.ts';
import type { RecoverySubject, WebhookRecovery } from '../../../src/core/resources/webhook-endpoint.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';

export interface RecoveryRequest {
  /** Locked by `lockEndpoint` in this transaction. */
  readonly endpointId: string;
  /** Inclusive. */
  readonly since: string;
  /** Exclusive. */
  readonly until: string;
  readonly include: readonly RecoverySubject[];
}

/** Makes past events due again, each with all automatic attempts ahead of it, unless they wait anyway or were delivered. */
export async function insertRecovery(
  tx: Db,
  scope: OrgScope,
  { include, ...request }: RecoveryRequest,
): Promise<string> {
  const id = newId('whr');
  await tx
    .insertInto('webhookRecoveries')
    .values({ ...request, id, orgId: scope.orgId, include: [...include], total: 0 })
    .execute();
  const recovered = { ...request, recoveryId: id };
  const again = include.flatMap((subject) => statusesOf[subject]);
  const total =
    (again.length > 0 ? await repeatMessages(tx, scope, { ...recovered, statuses: again }) : 0) +
    (include.includes('missing') ? await addMessages(tx, scope, recovered) : 0);
  await tx
    .updateTable('webhookRecoveries')
    .set({ total })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute();
  return id;
}

const statusesOf = { failed: ['exhausted'], skipped: ['skipped'], missing: [] } as const satisfies Record<
  RecoverySubject,
  readonly string[]
>;

type Recovered = Omit<RecoveryRequest, 'include'> & { readonly recoveryId: string };

async function repeatMessages(
  tx: Db,
  scope: OrgScope,
  { endpointId, since, until, recoveryId, statuses }: Recovered & { readonly statuses: readonly string[] },
): Promise<number> {
  const { numAffectedRows } = await sql`
    update webhook_messages
    set status = 'pending', attempts = 0, next_attempt_at = now(), recovery_id = ${recoveryId}
    from webhook_events
    where webhook_events.id = event_id and webhook_messages.org_id = ${scope.orgId} and endpoint_id = ${endpointId}
      and status = any(${statuses}) and occurred_at >= ${since} and occurred_at < ${until}`.execute(tx);
  return Number(numAffectedRows ?? 0);
}

/**
 * Adds events that the endpoint would get today but did not get when they happened. Events only sent as a test, and those about
 * the endpoint itself, are left out. Their lock waits for an event that is being removed, and leaves it out once deleted.
 */
async function addMessages(
  tx: Db,
  scope: OrgScope,
  { endpointId, since, until, recoveryId }: Recovered,
): Promise<number> {
  const { numAffectedRows } = await sql`
    insert into webhook_messages (org_id, event_id, endpoint_id, status, next_attempt_at, recovery_id)
    select event.org_id, event.id, endpoint.id, 'pending', now(), ${recoveryId}
    from webhook_events event join webhook_endpoints endpoint on endpoint.org_id = event.org_id
    where event.org_id = ${scope.orgId} and endpoint.id = ${endpointId}
      and event.occurred_at >= ${since} and event.occurred_at < ${until}
      and event.type = any(coalesce(endpoint.event_types, ${eventTypes.filter(isDefaultEvent)}))
      and (endpoint.connection_ids is null or event.connection_id = any(endpoint.connection_ids))
      and (endpoint.workspace_ids is null or event.workspace_id = any(endpoint.workspace_ids))
      and not exists (
        select 1 from webhook_messages message where message.event_id = event.id and message.endpoint_id = endpoint.id)
      and not exists (
        select 1 from webhook_deliveries delivery where delivery.event_id = event.id and delivery.trigger = 'test')
      and not (event.type like 'endpoint.%' and position(convert_to(endpoint.id, 'UTF8') in event.payload) > 0)
    order by event.occurred_at, event.sequence for key share of event`.execute(tx);
  return Number(numAffectedRows ?? 0);
}

export async function findRecovery(db: Db, scope: OrgScope, id: string): Promise<WebhookRecovery | undefined> {
  const recovery = await db
    .selectFrom('webhookRecoveries')
    .select(['id', 'endpointId', 'since', 'until', 'include', 'total', 'createdAt'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirst();
  if (!recovery) return undefined;
  const { sent, waiting } = await db
    .selectFrom('webhookMessages')
    .select((eb) => [
      eb.fn.countAll<number>().filterWhere('status', '=', 'succeeded').as('sent'),
      eb.fn.countAll<number>().filterWhere('status', '=', 'pending').as('waiting'),
    ])
    .where('orgId', '=', scope.orgId)
    .where('recoveryId', '=', id)
    .executeTakeFirstOrThrow();
  return { ...recovery, status: waiting > 0 ? 'running' : 'finished', sent };
}
