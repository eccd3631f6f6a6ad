import { toJsonSchema } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { listingOf } from '../../../db/listing.ts';
import { eventCatalogue, eventSchema, exampleEvent } from '../../core/events/catalogue.ts';
import { type EventType, eventTypes, isDefaultEvent } from '../../core/resources/event-types.ts';
import { EventTypeRow } from '../../core/resources/webhook-endpoint.ts';
import { route } from '../route.ts';

const tag = 'webhook endpoints';

export const eventTypeRoutes = [
  route({
    method: 'get',
    path: '/webhook-event-types',
    summary: 'List the types of events, each with its JSON Schema and an example',
    tag,
    auth: 'api_key',
    status: 200,
    response: v.array(EventTypeRow),
    errors: [],
    handle: async () => listingOf(eventTypes.map(toRow)),
  }),
];

const toRow = (type: EventType): EventTypeRow => ({
  type,
  summary: eventCatalogue[type].summary,
  default: isDefaultEvent(type),
  // Self-contained: a receiver has no other document at hand.
  schema: { ...toJsonSchema(eventSchema(type), { typeMode: 'output', target: 'draft-2020-12', errorMode: 'ignore' }) },
  example: exampleEvent(type),
});
