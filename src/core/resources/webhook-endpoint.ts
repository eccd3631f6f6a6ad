import * as v from 'valibot';
import { JsonObject } from '../json/json-object.ts';
import { eventTypes } from './event-types.ts';
import { Count, Timestamp } from './values.ts';

export const EventType = v.picklist(eventTypes);

/** `gone`: the receiver responded with 410 or `webhook-delivery: disable`; `failing`: every attempt failed for too long. */
export const WebhookDisabledReason = v.picklist(['manual', 'gone', 'failing']);
export type WebhookDisabledReason = v.InferOutput<typeof WebhookDisabledReason>;

/** `probing`: only the oldest event is tried; `paused`: the receiver requested a pause. */
export const WebhookEndpointState = v.picklist(['ok', 'probing', 'paused', 'disabled']);
export type WebhookEndpointState = v.InferOutput<typeof WebhookEndpointState>;

/** `fifo`: an event waits until the one before it was accepted or abandoned. */
export const WebhookOrdering = v.picklist(['any', 'fifo']);
export type WebhookOrdering = v.InferOutput<typeof WebhookOrdering>;

/** A signature scheme of Standard Webhooks; `v1`: HMAC-SHA256, `v1a`: ed25519. */
export const SignatureScheme = v.picklist(['v1', 'v1a']);
export type SignatureScheme = v.InferOutput<typeof SignatureScheme>;

/** An address for events of the org, without its secret. */
export const WebhookEndpointRow = v.object({
  id: v.pipe(v.string(), v.examples(['whe_01kaemm0dce7xb1k4c1m1f2p3q'])),
  orgId: v.string(),
  url: v.pipe(v.string(), v.examples(['https://example.com/events'])),
  description: v.nullable(v.string()),
  eventTypes: v.pipe(v.nullable(v.array(EventType)), v.description('Null: every type that is on by default.')),
  connectionIds: v.pipe(v.nullable(v.array(v.string())), v.description('Null: of every connection.')),
  workspaceIds: v.pipe(v.nullable(v.array(v.string())), v.description('Null: of every workspace.')),
  enabled: v.boolean(),
  disabledReason: v.pipe(v.nullable(WebhookDisabledReason), v.description('Null while it is enabled.')),
  state: WebhookEndpointState,
  rateLimitPerSecond: v.pipe(v.nullable(v.number()), v.description('Null: limited by `maxInFlight` only.')),
  maxInFlight: v.pipe(v.number(), v.description('Concurrent requests at most.')),
  timeoutMs: v.pipe(v.number(), v.description('For the whole request and its response.')),
  ordering: WebhookOrdering,
  signatureSchemes: v.array(SignatureScheme),
  secretHint: v.pipe(v.string(), v.description('The last four characters of the current secret.')),
  publicKey: v.pipe(v.nullable(v.string()), v.description('`whpk_…`, with which `v1a` is verified; null without it.')),
  createdAt: Timestamp,
  lastSuccessAt: v.nullable(Timestamp),
  firstFailureAt: v.pipe(
    v.nullable(Timestamp),
    v.description('Of the current failures in a row; null: there are none.'),
  ),
});
export type WebhookEndpointRow = v.InferOutput<typeof WebhookEndpointRow>;

export const WebhookEndpointStats = v.object({
  window: v.pipe(v.string(), v.examples(['24h'])),
  attempts: v.pipe(Count, v.description('Attempts of the window that have ended.')),
  delivered: Count,
  successRate: v.pipe(v.nullable(v.number()), v.description('From 0 to 1; null: there were no attempts.')),
  p50Ms: v.pipe(v.nullable(v.number()), v.description('Median duration of an attempt; null: there were none.')),
  p95Ms: v.nullable(v.number()),
  pending: v.pipe(Count, v.description('Events that are pending, for a first or another attempt.')),
  oldestPendingSeconds: v.pipe(
    v.nullable(v.number()),
    v.description('Age of the oldest of them; null: no event is pending.'),
  ),
  state: WebhookEndpointState,
});
export type WebhookEndpointStats = v.InferOutput<typeof WebhookEndpointStats>;

/** `failed`: every attempt failed; `skipped`: the endpoint was off; `missing`: it did not exist, or did not ask for it. */
export const RecoverySubject = v.picklist(['failed', 'skipped', 'missing']);
export type RecoverySubject = v.InferOutput<typeof RecoverySubject>;

export const WebhookRecovery = v.object({
  id: v.pipe(v.string(), v.examples(['whr_01kaemm0dce7xb1k4c1m1f2p3q'])),
  endpointId: v.string(),
  status: v.pipe(
    v.picklist(['running', 'finished']),
    v.description('`finished`: none of the events is pending any more.'),
  ),
  since: Timestamp,
  until: Timestamp,
  include: v.array(RecoverySubject),
  total: v.pipe(Count, v.description('Events that it sends again.')),
  sent: v.pipe(Count, v.description('Those of them that the receiver has accepted.')),
  createdAt: Timestamp,
});
export type WebhookRecovery = v.InferOutput<typeof WebhookRecovery>;

export const EventTypeRow = v.object({
  type: EventType,
  summary: v.pipe(v.string(), v.description('When the event occurs.')),
  default: v.pipe(v.boolean(), v.description('Endpoints that name no types get it.')),
  schema: v.pipe(
    JsonObject,
    v.description('JSON Schema (2020-12) of the whole payload. Later versions only add to it.'),
  ),
  example: v.pipe(JsonObject, v.description('A payload as it could be sent.')),
});
export type EventTypeRow = v.InferOutput<typeof EventTypeRow>;
