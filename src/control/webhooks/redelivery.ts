import type { Db } from '../../../db/client.ts';
import { insertRequestedDelivery, lockDeliveryTarget } from '../../../db/queries/webhooks/deliveries.ts';
import { lockEndpoint, lockOldestEndpoint } from '../../../db/queries/webhooks/endpoints.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { conflict, found } from '../../core/errors.ts';
import type { WebhookDeliveryView } from '../../core/resources/webhook-delivery.ts';
import type { WebhookEndpointRow } from '../../core/resources/webhook-endpoint.ts';
import { type WakeDeps, wakeEndpoints } from '../../dispatch/wake-endpoints.ts';
import { requireTurn } from '../orgs/org-limits.ts';
import { type WriteDeps, write } from '../orgs/write.ts';

export interface Redelivery {
  readonly id: string;
  /** `null` for the original endpoint or, if that is deleted, the oldest one. */
  readonly endpointId: string | null;
}

/**
 * Sends the same bytes under the same `webhook-id` once more, signed with the current secret, even to an endpoint that is
 * off. It is in the log before this returns. Throws not_found (the delivery, the endpoint), conflict (the org has no
 * endpoint), rate_limited.
 */
export async function redeliver(
  deps: WakeDeps & WriteDeps,
  scope: OrgScope,
  { id, endpointId }: Redelivery,
): Promise<WebhookDeliveryView> {
  const delivery = await write(deps, async (tx) => {
    await requireTurn(tx, scope, 'requestedDeliveries');
    const original = found(await lockDeliveryTarget(tx, scope, id), 'Webhook delivery');
    const endpoint =
      endpointId === null
        ? await lockUsual(tx, scope, original.endpointId)
        : await lockRequested(tx, scope, endpointId);
    return insertRequestedDelivery(tx, scope, {
      eventId: original.eventId,
      endpointId: endpoint.id,
      url: endpoint.url,
      trigger: 'redelivery',
      redeliveryOf: id,
    });
  });
  void wakeEndpoints(deps, scope);
  return delivery;
}

async function lockRequested(tx: Db, scope: OrgScope, id: string): Promise<WebhookEndpointRow> {
  return found(await lockEndpoint(tx, scope, id), 'Webhook endpoint');
}

async function lockUsual(tx: Db, scope: OrgScope, originalId: string): Promise<WebhookEndpointRow> {
  const usual = (await lockEndpoint(tx, scope, originalId)) ?? (await lockOldestEndpoint(tx, scope));
  if (!usual) throw conflict('The org has no webhook endpoint: create one, then redeliver.');
  return usual;
}
