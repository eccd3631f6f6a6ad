import * as v from 'valibot';
import { findEndpoint, listEndpoints, readEndpointStats } from '../../../db/queries/webhooks/endpoints.ts';
import { findRecovery } from '../../../db/queries/webhooks/recoveries.ts';
import { createEndpoint, deleteEndpoint, updateEndpoint } from '../../control/webhooks/endpoints.ts';
import { recoverEndpoint } from '../../control/webhooks/recovery.ts';
import { rotateSecret } from '../../control/webhooks/secrets.ts';
import { testEndpoint } from '../../control/webhooks/test-endpoint.ts';
import { found } from '../../core/errors.ts';
import { orgLimits } from '../../core/resources/org-limits.ts';
import { Deleted, deleted } from '../../core/resources/values.ts';
import { WebhookDeliveryView } from '../../core/resources/webhook-delivery.ts';
import {
  EventType,
  RecoverySubject,
  WebhookEndpointRow,
  WebhookEndpointStats,
  WebhookRecovery,
} from '../../core/resources/webhook-endpoint.ts';
import { boundedList } from '../bounded-list.ts';
import { idParams } from '../inputs.ts';
import { instant } from '../instant.ts';
import { route } from '../route.ts';
import { BroughtSecret, endpointSettings as settings } from './webhook-endpoint-body.ts';

const noun = 'Webhook endpoint';
const Params = idParams('whe', noun);
const recoveryNoun = 'Webhook recovery';
const RecoveryParams = idParams('whr', recoveryNoun);
const tag = 'webhook endpoints';

const ShownSecret = v.optional(
  v.pipe(v.string(), v.description('Present only when it was generated here. Shown once; it cannot be recovered.')),
);

const windowHours = { '1h': 1, '24h': 24, '7d': 168, '30d': 720 } as const;

export const webhookEndpointRoutes = [
  route({
    method: 'post',
    path: '/webhook-endpoints',
    summary: 'Create a webhook endpoint',
    description:
      'Events from now on are sent to it, signed according to Standard Webhooks. The host is resolved now, and again for every request: addresses that are not public are rejected.',
    tag,
    auth: 'api_key',
    body: v.object({
      url: settings.url,
      description: v.optional(settings.description, null),
      eventTypes: v.optional(settings.eventTypes, null),
      connectionIds: v.optional(settings.connectionIds, null),
      workspaceIds: v.optional(settings.workspaceIds, null),
      secret: v.nullish(BroughtSecret, null),
      enabled: v.optional(settings.enabled, true),
      rateLimitPerSecond: v.optional(settings.rateLimitPerSecond, null),
      maxInFlight: v.optional(settings.maxInFlight, 10),
      timeoutMs: v.optional(settings.timeoutMs, 15_000),
      ordering: v.optional(settings.ordering, 'any'),
      signatureSchemes: v.optional(settings.signatureSchemes, () => ['v1'] as const),
      verifyOnCreate: v.pipe(
        v.optional(v.boolean(), false),
        v.description('Sends `webhook.test` at once; `GET /webhook-deliveries` shows the result.'),
      ),
    }),
    bodyExample: { url: 'https://example.com/events', eventTypes: ['run.succeeded', 'run.failed'] },
    status: 201,
    response: v.object({ ...WebhookEndpointRow.entries, secret: ShownSecret }),
    errors: ['conflict'],
    repeated: 'conflict',
    handle: ({ scope, body }, deps) => createEndpoint(deps, scope, body),
  }),
  route({
    method: 'get',
    path: '/webhook-endpoints',
    summary: 'List the webhook endpoints',
    tag,
    auth: 'api_key',
    status: 200,
    response: v.array(WebhookEndpointRow),
    errors: [],
    handle: ({ scope }, { db }) => listEndpoints(db, scope),
  }),
  route({
    method: 'get',
    path: '/webhook-endpoints/:id',
    summary: 'Read a webhook endpoint',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: WebhookEndpointRow,
    errors: ['not_found'],
    handle: async ({ scope, params }, { db }) => found(await findEndpoint(db, scope, params.id), noun),
  }),
  route({
    method: 'patch',
    path: '/webhook-endpoints/:id',
    summary: 'Change a webhook endpoint',
    description:
      'Absent fields do not change; `rotate-secret` changes the secret. `enabled: false` keeps pending events until it is enabled again. `enabled: true` clears failures and pauses, also of an enabled endpoint, and pending events are sent at once.',
    tag,
    auth: 'api_key',
    params: Params,
    body: v.partial(v.object(settings)),
    bodyExample: { enabled: true },
    status: 200,
    response: WebhookEndpointRow,
    errors: ['not_found'],
    handle: ({ scope, params, body }, deps) => updateEndpoint(deps, scope, { ...body, id: params.id }),
  }),
  route({
    method: 'delete',
    path: '/webhook-endpoints/:id',
    summary: 'Delete a webhook endpoint',
    description: 'Its pending events are canceled and its secrets are removed; the log of its deliveries stays.',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: Deleted,
    errors: ['not_found'],
    handle: ({ scope, params }, deps) => deleteEndpoint(deps, scope, params.id).then(deleted),
  }),
  route({
    method: 'post',
    path: '/webhook-endpoints/:id/rotate-secret',
    summary: 'Replace the secret of a webhook endpoint',
    description:
      'Requests are signed with the new secret, and also with the previous one until that expires. An endpoint with `v1a` also gets a new key pair. At most three secrets sign at the same time.',
    tag,
    auth: 'api_key',
    params: Params,
    body: v.object({
      secret: v.nullish(BroughtSecret, null),
      overlapSeconds: v.pipe(
        v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(604_800)), 86_400),
        v.description('How long the previous secret continues to sign.'),
      ),
    }),
    bodyOptional: true,
    bodyExample: { overlapSeconds: 3600 },
    status: 200,
    response: v.object({
      id: v.string(),
      secret: ShownSecret,
      previousExpiresAt: v.pipe(v.string(), v.description('ISO 8601, UTC.')),
    }),
    errors: ['not_found', 'conflict'],
    repeated: 'conflict',
    handle: ({ scope, params, body }, deps) => rotateSecret(deps, scope, { ...body, endpointId: params.id }),
  }),
  route({
    method: 'post',
    path: '/webhook-endpoints/:id/test',
    summary: 'Send an example of an event to a webhook endpoint',
    description: `Sends one real request, even to a disabled endpoint. The delivery shows the result. Beyond ${orgLimits.requestedDeliveries.default} tests and redeliveries of the org in 24 hours, by default, it gets 429.`,
    tag,
    auth: 'api_key',
    params: Params,
    body: v.object({ eventType: v.optional(EventType, 'webhook.test') }),
    bodyOptional: true,
    bodyExample: { eventType: 'run.succeeded' },
    status: 202,
    response: WebhookDeliveryView,
    errors: ['not_found'],
    repeated: 'same_response',
    handle: ({ scope, params, body }, deps) => testEndpoint(deps, scope, { ...body, id: params.id }),
  }),
  route({
    method: 'post',
    path: '/webhook-endpoints/:id/recover',
    summary: 'Send past events to a webhook endpoint',
    description:
      'Sends them again, oldest first, with all automatic attempts. Events that the endpoint has accepted, or that are still pending, are not sent again. Poll `GET /webhook-recoveries/:id`. ' +
      `Beyond ${orgLimits.recoveries.default} recoveries of the org in 24 hours, by default, it gets 429.`,
    tag,
    auth: 'api_key',
    params: Params,
    body: v.object({
      since: instant('Events from then on.'),
      until: v.optional(v.nullable(instant('Events before it, at most 30 days after `since`. Null: until now.')), null),
      include: v.pipe(
        boundedList(RecoverySubject, RecoverySubject.options.length),
        v.minLength(1),
        v.description(
          'failed: every attempt failed. skipped: the endpoint was disabled. missing: it did not exist, or did not subscribe to them; `run.started` is recorded only while an endpoint of the org names it.',
        ),
      ),
    }),
    bodyExample: { since: '2026-03-01T00:00:00Z', until: '2026-03-02T00:00:00Z', include: ['failed', 'skipped'] },
    status: 202,
    response: WebhookRecovery,
    errors: ['not_found'],
    repeated: 'same_response',
    handle: ({ scope, params, body }, deps) =>
      recoverEndpoint(deps, scope, {
        endpointId: params.id,
        ...body,
        until: body.until ?? new Date().toISOString(),
      }),
  }),
  route({
    method: 'get',
    path: '/webhook-endpoints/:id/stats',
    summary: 'Read the health of a webhook endpoint',
    tag,
    auth: 'api_key',
    params: Params,
    query: v.object({
      window: v.pipe(
        v.optional(v.picklist(['1h', '24h', '7d', '30d']), '24h'),
        v.description('The period whose attempts are counted.'),
      ),
    }),
    status: 200,
    response: WebhookEndpointStats,
    errors: ['not_found'],
    handle: async ({ scope, params, query: { window } }, { db }) => {
      const endpoint = found(await findEndpoint(db, scope, params.id), noun);
      const stats = await readEndpointStats(db, scope, { id: params.id, hours: windowHours[window] });
      return { window, ...stats, state: endpoint.state };
    },
  }),
  route({
    method: 'get',
    path: '/webhook-recoveries/:id',
    summary: 'Read the progress of a recovery',
    tag,
    auth: 'api_key',
    params: RecoveryParams,
    status: 200,
    response: WebhookRecovery,
    errors: ['not_found'],
    handle: async ({ scope, params }, { db }) => found(await findRecovery(db, scope, params.id), recoveryNoun),
  }),
];
