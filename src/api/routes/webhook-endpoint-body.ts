import * as v from 'valibot';
import { EventType, SignatureScheme, WebhookOrdering } from '../../core/resources/webhook-endpoint.ts';
import { boundedList, distinct } from '../bounded-list.ts';
import { bodyId } from '../inputs.ts';

const idsMax = 100;

/** `null` matches everything; an empty filter is refused because it matches nothing. */
const filterOf = <Item extends v.GenericSchema<string>>(item: Item, description: string) =>
  v.nullable(
    v.pipe(
      boundedList(item, idsMax),
      v.minLength(1, 'is empty, which matches nothing: use null to match everything'),
      distinct(),
      v.description(description),
    ),
  );

const wholeNumber = (min: number, max: number) => v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max));

/** Without defaults. */
export const endpointSettings = {
  url: v.pipe(
    v.string(),
    v.description('An https URL of a public address, without credentials and fragment.'),
    v.examples(['https://example.com/events']),
  ),
  description: v.nullable(v.pipe(v.string(), v.maxLength(500))),
  eventTypes: filterOf(EventType, 'The event types to send. Null: every type that is on by default.'),
  connectionIds: filterOf(
    bodyId('con'),
    'Only events of these connections. Null: every event, also those without a connection.',
  ),
  workspaceIds: filterOf(
    bodyId('ws'),
    'Only events of these workspaces. Null: every event, also those without a workspace.',
  ),
  enabled: v.pipe(v.boolean(), v.description('False: events are stored as skipped, and can be recovered.')),
  rateLimitPerSecond: v.nullable(
    v.pipe(wholeNumber(1, 1000), v.description('Requests per second at most. Null: limited by `maxInFlight` only.')),
  ),
  maxInFlight: v.pipe(wholeNumber(1, 64), v.description('Concurrent requests at most.')),
  timeoutMs: v.pipe(wholeNumber(1000, 30_000), v.description('For the whole request and its response.')),
  ordering: v.pipe(
    WebhookOrdering,
    v.description(
      '`fifo`: one request at a time, and an event waits until the one before it was delivered or its last attempt has failed.',
    ),
  ),
  signatureSchemes: v.pipe(
    boundedList(SignatureScheme, SignatureScheme.options.length),
    v.check((schemes) => schemes.includes('v1'), 'must contain v1, since every request is signed with it'),
    distinct(),
    v.description('In addition to `v1` (HMAC), requests can carry `v1a`, a signature that a public key verifies.'),
  ),
};

export const BroughtSecret = v.pipe(
  v.string(),
  v.description(
    '`whsec_` and the standard base64 of 24 to 64 bytes. Null: one is generated, and shown in this response only.',
  ),
);
