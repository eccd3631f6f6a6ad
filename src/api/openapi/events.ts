import * as v from 'valibot';
import { eventCatalogue, exampleEvent } from '../../core/events/catalogue.ts';
import { type EventType, eventTypes, isDefaultEvent } from '../../core/resources/event-types.ts';
import { refTo, schemaOf } from './schemas.ts';

type Json = Readonly<Record<string, unknown>>;

export const webhooks = (): Json => Object.fromEntries(eventTypes.map((type) => [type, { post: postOf(type) }]));

const postOf = (type: EventType): Json => ({
  operationId: operationIdOf(type),
  summary: eventCatalogue[type].summary,
  description: isDefaultEvent(type)
    ? 'Sent to every endpoint that names no types.'
    : 'Sent only to endpoints that name it.',
  tags: ['webhook endpoints'],
  security: [],
  parameters: Object.keys(webhookHeaders).map((name) => refTo('parameters', name)),
  requestBody: {
    required: true,
    content: { 'application/json': { schema: schemaOfEvent(type), example: exampleEvent(type) } },
  },
  responses: { '2XX': refTo('responses', 'EventReceived'), '410': refTo('responses', 'EndpointGone') },
});

const schemaOfEvent = (type: EventType): Json => ({
  allOf: [
    refTo('schemas', 'EventEnvelope'),
    schemaOf(v.object({ type: v.literal(type), data: eventCatalogue[type].data }), 'output'),
  ],
});

/** For example `onRunSucceeded`. */
const operationIdOf = (type: EventType): string =>
  `on${type.replaceAll(/(?:^|[._])(\w)/g, (_all, letter) => letter.toUpperCase())}`;

export const receiverResponses: Json = {
  EventReceived: {
    description: 'Received. After any other response, or none within the timeout, the event is sent again.',
  },
  EndpointGone: { description: 'The endpoint no longer exists (410): the service disables it.' },
};

const header = (name: string, description: string): Json => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
});

/** As in Standard Webhooks. */
export const webhookHeaders: Json = {
  WebhookId: header(
    'webhook-id',
    'The id of the event: the same for every attempt, so that receivers can recognize repeats.',
  ),
  WebhookTimestamp: header('webhook-timestamp', 'When the attempt was made, in whole seconds since the epoch.'),
  WebhookSignature: header(
    'webhook-signature',
    'Signatures of id, timestamp and body, separated by spaces: one for each valid secret.',
  ),
};
