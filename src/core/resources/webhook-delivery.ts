import * as v from 'valibot';
import { JsonObject } from '../json/json-object.ts';
import { Timestamp } from './values.ts';

/** Characters of a response kept in the log. */
export const shownBodyCharsMax = 16_384;

export const WebhookDeliveryView = v.object({
  id: v.pipe(v.string(), v.examples(['whd_01kaemm0dce7xb1k4c1m1f2p3q'])),
  orgId: v.string(),
  connectionId: v.pipe(v.nullable(v.string()), v.description('Null: the event is about no connection.')),
  runId: v.pipe(v.nullable(v.string()), v.description('Null: the event is about no run.')),
  eventType: v.pipe(v.string(), v.examples(['run.succeeded'])),
  url: v.string(),
  statusCode: v.pipe(v.nullable(v.number()), v.description('Null: not sent yet, or no response arrived.')),
  delivered: v.pipe(v.boolean(), v.description('The receiver responded with 2xx.')),
  createdAt: Timestamp,
});
export type WebhookDeliveryView = v.InferOutput<typeof WebhookDeliveryView>;

export const WebhookTrigger = v.picklist(['auto', 'redelivery', 'recover', 'test']);
export type WebhookTrigger = v.InferOutput<typeof WebhookTrigger>;

/** `unknown`: the worker died before it recorded the outcome. */
export const WebhookDeliveryState = v.picklist(['queued', 'sending', 'done', 'unknown']);
export type WebhookDeliveryState = v.InferOutput<typeof WebhookDeliveryState>;

export const WebhookDeliveryDetail = v.object({
  ...WebhookDeliveryView.entries,
  eventId: v.pipe(v.string(), v.description('Sent as `webhook-id`: the same in every attempt.')),
  endpointId: v.string(),
  attempt: v.pipe(v.number(), v.description('Counts the attempts of the event at the endpoint from 1.')),
  trigger: WebhookTrigger,
  state: WebhookDeliveryState,
  redeliveryOf: v.pipe(v.nullable(v.string()), v.description('The delivery that this one repeats.')),
  payload: v.pipe(v.string(), v.description('The body, byte for byte as it is sent in every attempt.')),
  requestHeaders: v.pipe(v.nullable(JsonObject), v.description('Signatures masked; null: not sent.')),
  responseHeaders: v.pipe(v.nullable(JsonObject), v.description('Null: no response arrived.')),
  responseBody: v.pipe(
    v.nullable(v.string()),
    v.description(`Its first ${shownBodyCharsMax / 1024} KiB; null: no response arrived.`),
  ),
  durationMs: v.nullable(v.number()),
  errorCode: v.pipe(
    v.nullable(v.string()),
    v.description('Why it failed; null: it succeeded, or has not ended.'),
    v.examples(['timeout']),
  ),
  nextAttemptAt: v.pipe(
    v.nullable(Timestamp),
    v.description('When the event is automatically sent to the endpoint again, at the earliest; null: it is not.'),
  ),
});
export type WebhookDeliveryDetail = v.InferOutput<typeof WebhookDeliveryDetail>;
