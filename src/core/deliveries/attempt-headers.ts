import type { KeyObject } from 'node:crypto';
import manifest from '../../../package.json' with { type: 'json' };
import { webhookHeaders } from '../crypto/standard-webhook.ts';
import type { WebhookTrigger } from '../resources/webhook-delivery.ts';

export interface AttemptToSend {
  /** Id of its row in the log. */
  readonly id: string;
  readonly eventId: string;
  readonly eventType: string;
  /** Attempts of the event at the endpoint, from 1. */
  readonly attempt: number;
  readonly trigger: WebhookTrigger;
  readonly payload: Uint8Array;
}

/** Current ones first. */
export interface SigningKeys {
  readonly v1: readonly string[];
  /** Keys of `v1a`; empty if the scheme is not enabled. */
  readonly v1a: readonly KeyObject[];
}

const userAgent = `${manifest.name}/${manifest.version}`;

/**
 * The signature covers id, time and body; `x-service-*` help to find the attempt and are not signed. No other code adds
 * headers, so none can be overridden.
 */
export function attemptHeaders(
  { id, eventId, eventType, attempt, trigger, payload }: AttemptToSend,
  { v1, v1a }: SigningKeys,
  sentAt: Date,
): Readonly<Record<string, string>> {
  return {
    'content-type': 'application/json',
    'content-length': String(payload.byteLength),
    'user-agent': userAgent,
    ...webhookHeaders({ id: eventId, sentAt, body: payload }, v1, v1a),
    'x-service-delivery-id': id,
    'x-service-event-type': eventType,
    'x-service-attempt': String(attempt),
    'x-service-redelivery': String(trigger === 'redelivery'),
  };
}

/** Headers for the log: the signature schemes without their values. */
export function maskedHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { 'webhook-signature': signature = '' } = headers;
  return { ...headers, 'webhook-signature': signature.replace(/(?<=^| )(v1a?),\S+/g, '$1,***') };
}
