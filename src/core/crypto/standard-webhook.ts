import { createHmac, type KeyObject, sign } from 'node:crypto';

/** What is signed: one attempt to send a message. */
export interface WebhookMessage {
  /** The id of the message, the same in every attempt; without `.`, which separates what is signed. */
  readonly id: string;
  readonly sentAt: Date;
  /** The bytes on the wire; a text stands for its UTF-8. */
  readonly body: string | Uint8Array;
}

/**
 * The headers of a message by Standard Webhooks: id, time of the attempt in whole seconds, and a `v1` signature
 * (HMAC-SHA256) for each of `secrets`, the current one first. A secret is `whsec_` and the base64 of its bytes, or any
 * other text, whose UTF-8 bytes count. Behind them a `v1a` signature (ed25519) for each of `keys`: receivers' libraries
 * that know only the first scheme skip these.
 */
export function webhookHeaders(
  { id, sentAt, body }: WebhookMessage,
  secrets: readonly string[],
  keys: readonly KeyObject[] = [],
): Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> {
  const timestamp = String(Math.floor(sentAt.getTime() / 1000));
  const head = `${id}.${timestamp}.`;
  const signatures = secrets.map((secret) => {
    const signature = createHmac('sha256', standardWebhookKey(secret)).update(head, 'utf8').update(body);
    return `v1,${signature.digest('base64')}`;
  });
  const content = keys.length === 0 ? null : Buffer.concat([Buffer.from(head), Buffer.from(body)]);
  if (content) for (const key of keys) signatures.push(`v1a,${sign(null, content, key).toString('base64')}`);
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

const prefix = 'whsec_';

/** Why a secret cannot sign; null: it can. Standard base64 is demanded, as the receivers' libraries read no other. */
export function secretIssue(secret: string): string | null {
  if (secret === '') return 'it is empty';
  if (!secret.startsWith(prefix)) return null;
  const encoded = secret.slice(prefix.length);
  return Buffer.from(encoded, 'base64').toString('base64') === encoded && encoded !== ''
    ? null
    : `what follows \`${prefix}\` is not standard base64`;
}

/** The bytes that a secret stands for: what follows `whsec_` is base64, any other text counts as it is. */
export const standardWebhookKey = (secret: string): Buffer =>
  secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), 'base64') : Buffer.from(secret, 'utf8');
