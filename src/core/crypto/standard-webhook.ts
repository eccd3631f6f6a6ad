import { createHmac } from 'node:crypto';

/** What is signed: one attempt to send a message. */
export interface WebhookMessage {
  /** The same in every attempt; without `.`, which separates what is signed. */
  readonly id: string;
  readonly sentAt: Date;
  /** The bytes on the wire, as text. */
  readonly body: string;
}

/**
 * The headers of a message by Standard Webhooks: id, time of the attempt in whole seconds, and a `v1` signature
 * (HMAC-SHA256) for each of `secrets`, the current one first. A secret is `whsec_` and the base64 of its bytes, or any
 * other text, whose UTF-8 bytes count.
 */
export function webhookHeaders(
  { id, sentAt, body }: WebhookMessage,
  secrets: readonly string[],
): Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> {
  const timestamp = String(Math.floor(sentAt.getTime() / 1000));
  const signatures = secrets.map((secret) => {
    const signature = createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.${body}`, 'utf8');
    return `v1,${signature.digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

const prefix = 'whsec_';

/** Why a secret cannot sign; null: it can. Standard base64 is demanded, as the receivers' libraries read no other. */
export function secretFault(secret: string): string | null {
  if (secret === '') return 'it is empty';
  if (!secret.startsWith(prefix)) return null;
  const encoded = secret.slice(prefix.length);
  return Buffer.from(encoded, 'base64').toString('base64') === encoded && encoded !== ''
    ? null
    : `what follows \`${prefix}\` is not standard base64`;
}

const keyOf = (secret: string): Buffer =>
  secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), 'base64') : Buffer.from(secret, 'utf8');
