import { type RawBuilder, sql } from 'kysely';
import { newId } from '../../../src/core/ids.ts';
import type { WebhookDeliveryDetail, WebhookDeliveryView } from '../../../src/core/resources/webhook-delivery.ts';
import type { Db } from '../../client.ts';
import { type Listing, openNewestFirst } from '../../listing.ts';
import { firstIdAfter, firstIdSince, newestPage, type Page, type PageRequest } from '../../page.ts';
import type { OrgScope } from '../../scope.ts';

const viewColumns = [
  'id',
  'orgId',
  'connectionId',
  'runId',
  'eventType',
  'url',
  'statusCode',
  'delivered',
  'createdAt',
] as const;

export function listDeliveries(db: Db, scope: OrgScope, limit: number): Promise<Listing<WebhookDeliveryView>> {
  // Ids are ordered by time, and so are the partitions: only the newest are read.
  const attempts = db.selectFrom('webhookDeliveries').select(viewColumns).where('orgId', '=', scope.orgId);
  return openNewestFirst(attempts, { limit });
}

export type DeliveryLine = WebhookDeliveryView &
  Pick<WebhookDeliveryDetail, 'endpointId' | 'attempt' | 'trigger' | 'state' | 'durationMs' | 'errorCode'>;

export const deliveryOutcomes = ['delivered', 'failed', 'open', 'unknown'] as const;
export type DeliveryOutcome = (typeof deliveryOutcomes)[number];

const outcomeIs: Readonly<Record<DeliveryOutcome, RawBuilder<boolean>>> = {
  delivered: sql`delivered`,
  failed: sql`(state = 'done' and not delivered)`,
  open: sql`state in ('queued', 'sending')`,
  unknown: sql`state = 'unknown'`,
};

export interface DeliveryFilter {
  readonly endpointId?: string | undefined;
  readonly outcome?: DeliveryOutcome | undefined;
  readonly eventType?: string | undefined;
  /** ISO time, inclusive. */
  readonly since?: string | undefined;
  /** ISO time, exclusive. */
  readonly until?: string | undefined;
}

export function findDeliveriesPage(
  db: Db,
  scope: OrgScope,
  { endpointId, outcome, eventType, since, until }: DeliveryFilter,
  request: PageRequest,
): Promise<Page<DeliveryLine>> {
  let attempts = db.selectFrom('webhookDeliveries').where('orgId', '=', scope.orgId);
  if (endpointId !== undefined) attempts = attempts.where('endpointId', '=', endpointId);
  if (outcome !== undefined) attempts = attempts.where(outcomeIs[outcome]);
  if (eventType !== undefined) attempts = attempts.where('eventType', '=', eventType);
  if (since !== undefined)
    attempts = attempts.where('createdAt', '>=', since).where('id', '>=', firstIdSince('whd', since));
  if (until !== undefined)
    attempts = attempts.where('createdAt', '<', until).where('id', '<', firstIdAfter('whd', until));
  const line = ['endpointId', 'attempt', 'trigger', 'state', 'durationMs', 'errorCode'] as const;
  return newestPage(attempts.select([...viewColumns, ...line]), request);
}

export async function findDelivery(db: Db, scope: OrgScope, id: string): Promise<WebhookDeliveryDetail | undefined> {
  const found = await db
    .selectFrom('webhookDeliveries as delivery')
    .innerJoin('webhookEvents as event', 'event.id', 'delivery.eventId')
    .leftJoin('webhookMessages as message', (join) =>
      join.onRef('message.eventId', '=', 'delivery.eventId').onRef('message.endpointId', '=', 'delivery.endpointId'),
    )
    .leftJoin('webhookEndpoints as endpoint', 'endpoint.id', 'delivery.endpointId')
    .select(viewColumns.map((column) => `delivery.${column}` as const))
    .select([
      'delivery.eventId',
      'delivery.endpointId',
      'delivery.attempt',
      'delivery.trigger',
      'delivery.state',
      'delivery.redeliveryOf',
      'event.payload',
      'delivery.requestHeaders',
      'delivery.responseHeaders',
      'delivery.responseBody',
      'delivery.durationMs',
      'delivery.errorCode',
      // An endpoint that is probed, or asked for a pause, gets nothing before.
      sql<string | null>`case when message.next_attempt_at is not null then greatest(message.next_attempt_at,
        endpoint.paused_until, case when endpoint.probing_since is not null then endpoint.next_probe_at end) end`.as(
        'nextAttemptAt',
      ),
    ])
    .where('delivery.orgId', '=', scope.orgId)
    .where('delivery.id', '=', id)
    .executeTakeFirst();
  return found && { ...found, payload: found.payload.toString('utf8') };
}

/** Locks the event until the transaction ends, so that it is not removed as too old meanwhile. */
export function lockDeliveryTarget(
  tx: Db,
  scope: OrgScope,
  id: string,
): Promise<{ readonly eventId: string; readonly endpointId: string } | undefined> {
  return tx
    .selectFrom('webhookDeliveries as delivery')
    .innerJoin('webhookEvents as event', 'event.id', 'delivery.eventId')
    .select(['delivery.eventId', 'delivery.endpointId'])
    .where('delivery.orgId', '=', scope.orgId)
    .where('delivery.id', '=', id)
    .forKeyShare('event')
    .executeTakeFirst();
}

export interface RequestedDelivery {
  readonly eventId: string;
  /** Locked by `lockEndpoint` in this transaction, so that attempts are counted one after the other. */
  readonly endpointId: string;
  readonly url: string;
  readonly trigger: 'redelivery' | 'test';
  /** `null` if it repeats no delivery. */
  readonly redeliveryOf: string | null;
}

/** The attempt waits in the log until it is sent. */
export function insertRequestedDelivery(
  tx: Db,
  scope: OrgScope,
  { eventId, endpointId, ...requested }: RequestedDelivery,
): Promise<WebhookDeliveryView> {
  return tx
    .insertInto('webhookDeliveries')
    .columns([
      'id',
      'orgId',
      'eventId',
      'endpointId',
      'connectionId',
      'runId',
      'eventType',
      'url',
      'attempt',
      'trigger',
      'redeliveryOf',
      'state',
    ])
    .expression((eb) =>
      eb
        .selectFrom('webhookEvents')
        .select((row) => [
          row.val(newId('whd')).as('id'),
          'orgId',
          'webhookEvents.id as eventId',
          row.val(endpointId).as('endpointId'),
          'connectionId',
          'runId',
          'type',
          row.val(requested.url).as('url'),
          sql<number>`(
            select coalesce(max(attempt), 0) + 1 from webhook_deliveries
            where event_id = ${eventId} and endpoint_id = ${endpointId})`.as('attempt'),
          row.val(requested.trigger).as('trigger'),
          row.val(requested.redeliveryOf).as('redeliveryOf'),
          sql<'queued'>`'queued'`.as('state'),
        ])
        .where('orgId', '=', scope.orgId)
        .where('webhookEvents.id', '=', eventId),
    )
    .returning(viewColumns)
    .executeTakeFirstOrThrow();
}
