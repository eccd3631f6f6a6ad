import type { Db } from '../../../db/client.ts';
import { insertRequestedDelivery } from '../../../db/queries/webhooks/deliveries.ts';
import { lockEndpoint } from '../../../db/queries/webhooks/endpoints.ts';
import { storeTestEvent } from '../../../db/queries/webhooks/events.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { found } from '../../core/errors.ts';
import { eventCatalogue } from '../../core/events/catalogue.ts';
import { webhookTest } from '../../core/events/endpoint-events.ts';
import type { DomainEvent } from '../../core/events/envelope.ts';
import { newId } from '../../core/ids.ts';
import type { EventType } from '../../core/resources/event-types.ts';
import type { WebhookDeliveryView } from '../../core/resources/webhook-delivery.ts';
import type { WebhookEndpointRow } from '../../core/resources/webhook-endpoint.ts';
import { type WakeDeps, wakeEndpoints } from '../../dispatch/wake-endpoints.ts';
import { requireTurn } from '../orgs/org-limits.ts';
import { type WriteDeps, write } from '../orgs/write.ts';

/**
 * Sends an example event to this endpoint only, even if it is off; it is in the log before this returns. Throws not_found,
 * rate_limited.
 */
export async function testEndpoint(
  deps: WakeDeps & WriteDeps,
  scope: OrgScope,
  { id, eventType }: { readonly id: string; readonly eventType: EventType },
): Promise<WebhookDeliveryView> {
  const delivery = await write(deps, async (tx) => {
    await requireTurn(tx, scope, 'requestedDeliveries');
    const endpoint = found(await lockEndpoint(tx, scope, id), 'Webhook endpoint');
    return askForTest(tx, scope, { endpoint, eventType });
  });
  void wakeEndpoints(deps, scope);
  return delivery;
}

/** The caller has counted the test (`requireTurn`), then locked the endpoint, and wakes it after the commit. */
export async function askForTest(
  tx: Db,
  scope: OrgScope,
  { endpoint, eventType }: { readonly endpoint: Pick<WebhookEndpointRow, 'id' | 'url'>; readonly eventType: EventType },
): Promise<WebhookDeliveryView> {
  const { id: endpointId, url } = endpoint;
  const eventId = await storeTestEvent(tx, scope, exampleOf(eventType, endpointId));
  return insertRequestedDelivery(tx, scope, { eventId, endpointId, url, redeliveryOf: null, trigger: 'test' });
}

function exampleOf(type: EventType, endpointId: string): DomainEvent {
  const test = webhookTest({ endpointId, deduplicationId: newId('evt') });
  return type === test.type ? test : { ...test, type, data: eventCatalogue[type].example };
}
