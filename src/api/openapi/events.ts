import type * as v from 'valibot';
import { eventCatalogue, eventSchema, exampleEvent } from '../../core/events/catalogue.ts';
import { type EventType, eventTypes, isDefaultEvent } from '../../core/resources/event-types.ts';

type Json = Readonly<Record<string, unknown>>;

/** The posts of the service to webhook endpoints, by type of event: the `webhooks` of the document. */
export const webhooksOf = (schemaOf: (schema: v.GenericSchema) => Json): Json =>
  Object.fromEntries(eventTypes.map((type) => [type, { post: postOf(type, schemaOf(eventSchema(type))) }]));

const postOf = (type: EventType, schema: Json): Json => ({
  operationId: operationIdOf(type),
  summary: eventCatalogue[type].summary,
  description: isDefaultEvent(type)
    ? 'Sent to every endpoint that names no types.'
    : 'Sent only to endpoints that name it.',
  tags: ['webhook endpoints'],
  security: [],
  parameters: headers,
  requestBody: { required: true, content: { 'application/json': { schema, example: exampleEvent(type) } } },
  responses: {
    '2XX': { description: 'Received. After any other response, or none within the timeout, the event is sent again.' },
    '410': { description: 'Gone: the endpoint is disabled.' },
  },
});

/** For example `onRunSucceeded`. */
const operationIdOf = (type: EventType): string =>
  `on${type.replaceAll(/(?:^|[._])(\w)/g, (_all, letter) => letter.toUpperCase())}`;

const header = (name: string, description: string): Json => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
});

/** As Standard Webhooks has them. */
const headers = [
  header('webhook-id', 'The id of the event: the same for every attempt, so that receivers can recognize repeats.'),
  header('webhook-timestamp', 'When the attempt was made, in whole seconds since the epoch.'),
  header('webhook-signature', 'Signatures of id, timestamp and body, separated by spaces: one for each valid secret.'),
];
