import * as v from 'valibot';
import type { DomainEvent } from './envelope.ts';
import type { EventDeclarations } from './event-declaration.ts';
import { exampleEndpoint } from './examples.ts';

const Count = v.pipe(v.number(), v.integer(), v.minValue(0));
const ofEndpoint = { endpointId: v.string(), url: v.string() };

const EndpointFailing = v.object({
  ...ofEndpoint,
  since: v.pipe(v.string(), v.description('The first of the failures in a row: ISO 8601, UTC.')),
  lastStatusCode: v.pipe(v.nullable(v.number()), v.description('Null: no response arrived.')),
  pending: v.pipe(Count, v.description('Pending events of the endpoint.')),
});
const EndpointDisabled = v.object({
  ...ofEndpoint,
  reason: v.pipe(
    v.picklist(['gone', 'failing']),
    v.description(
      'gone: the endpoint responded with 410 or with `webhook-delivery: disable`. failing: every attempt failed for too long.',
    ),
  ),
  failingSince: v.pipe(v.nullable(v.string()), v.description('ISO 8601, UTC; null: it did not fail before.')),
  skipped: v.pipe(Count, v.description('Events that are not sent to it unless they are recovered.')),
});
const WebhookTest = v.object({ endpointId: v.string(), message: v.string() });

const ofOrg = { workspaceId: null, connectionId: null, runId: null };

/** Sent to the other endpoints, once per series of failures. */
export const endpointFailing = (data: v.InferOutput<typeof EndpointFailing>): DomainEvent => ({
  ...ofOrg,
  type: 'endpoint.failing',
  subject: `${data.endpointId} ${data.since}`,
  data,
});

/** Sent to the other endpoints; `deduplicationId` distinguishes occurrences. */
export const endpointDisabled = ({
  deduplicationId,
  ...data
}: v.InferOutput<typeof EndpointDisabled> & { readonly deduplicationId: string }): DomainEvent => ({
  ...ofOrg,
  type: 'endpoint.disabled',
  subject: `${data.endpointId} ${deduplicationId}`,
  data,
});

/** `deduplicationId` distinguishes tests. */
export const webhookTest = ({
  endpointId,
  deduplicationId,
}: {
  readonly endpointId: string;
  readonly deduplicationId: string;
}): DomainEvent => ({
  ...ofOrg,
  type: 'webhook.test',
  subject: deduplicationId,
  data: {
    endpointId,
    message: 'A test of this endpoint: no event occurred.',
  } satisfies v.InferOutput<typeof WebhookTest>,
});

export const endpointEvents: EventDeclarations<'endpoint.failing' | 'endpoint.disabled' | 'webhook.test'> = {
  'endpoint.failing': {
    summary: 'Deliveries to another endpoint of the org fail again and again.',
    data: EndpointFailing,
    example: endpointFailing({
      ...exampleEndpoint,
      since: '2026-03-01T08:30:12.470Z',
      lastStatusCode: 503,
      pending: 12,
    }).data,
  },
  'endpoint.disabled': {
    summary: 'Another endpoint of the org was disabled.',
    data: EndpointDisabled,
    example: endpointDisabled({
      ...exampleEndpoint,
      reason: 'gone',
      failingSince: null,
      skipped: 12,
      deduplicationId: 'example',
    }).data,
  },
  'webhook.test': {
    summary: 'An endpoint is tested; only this endpoint gets the event.',
    data: WebhookTest,
    example: webhookTest({ endpointId: exampleEndpoint.endpointId, deduplicationId: 'example' }).data,
  },
};
