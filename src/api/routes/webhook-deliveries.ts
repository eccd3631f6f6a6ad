import * as v from 'valibot';
import { findDelivery, listDeliveries } from '../../../db/queries/webhooks/deliveries.ts';
import { redeliver } from '../../control/webhooks/redelivery.ts';
import { found } from '../../core/errors.ts';
import { orgLimits } from '../../core/resources/org-limits.ts';
import { WebhookDeliveryDetail, WebhookDeliveryView } from '../../core/resources/webhook-delivery.ts';
import { bodyId, idParams } from '../inputs.ts';
import { queryLimit } from '../query-inputs.ts';
import { route } from '../route.ts';

const noun = 'Webhook delivery';
const Params = idParams('whd', noun);
const tag = 'webhook deliveries';

const requestedInTime = `Beyond ${orgLimits.requestedDeliveries.default} tests and redeliveries of the org in 24 hours, by default, it gets 429. To send many events again, recover their endpoint.`;

export const webhookDeliveryRoutes = [
  route({
    method: 'get',
    path: '/webhook-deliveries',
    summary: 'List the latest attempts to deliver events',
    description: 'One element for each request that was or will be sent, newest first.',
    tag,
    auth: 'api_key',
    query: v.object({ limit: queryLimit({ usual: 50, max: 200 }) }),
    status: 200,
    response: v.array(WebhookDeliveryView),
    errors: [],
    handle: ({ scope, query }, { db }) => listDeliveries(db, scope, query.limit),
  }),
  route({
    method: 'get',
    path: '/webhook-deliveries/:id',
    summary: 'Read an attempt with its request and response',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: WebhookDeliveryDetail,
    errors: ['not_found'],
    handle: async ({ scope, params }, { db }) => found(await findDelivery(db, scope, params.id), noun),
  }),
  route({
    method: 'post',
    path: '/webhook-deliveries/:id/redeliver',
    summary: 'Send a delivery once more',
    description:
      'Sends the same bytes under the same `webhook-id`, signed with the current secret, in one attempt without retries: a new element of the log, which shows the result later. It goes to the original endpoint, even a disabled one, or to the oldest endpoint if the original was deleted. When it succeeds, the automatic attempts of that event end. ' +
      requestedInTime,
    tag,
    auth: 'api_key',
    params: Params,
    body: v.object({
      endpointId: v.nullish(v.pipe(bodyId('whe'), v.description('Another endpoint to send it to.')), null),
    }),
    bodyOptional: true,
    bodyExample: {},
    status: 202,
    response: WebhookDeliveryView,
    errors: ['not_found', 'conflict'],
    repeated: 'same_response',
    handle: ({ scope, params, body }, deps) => redeliver(deps, scope, { ...body, id: params.id }),
  }),
];
