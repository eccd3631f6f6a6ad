import { createHmac, type KeyObject, sign } from 'node:crypto';

export interface WebhookMessage {
  /** Message id, the same in every attempt; without `.`, which separates the signed parts. */
  readonly id: string;
  readonly sentAt: Date;
  /** Bytes on the wire; a text stands for its UTF-8. */
  readonly body: string | Uint8Array;
}

/**
 * Headers of a message by Standard Webhooks: id, time of the attempt in whole seconds, and signatures. Each of
 * `secrets`, the current one first, gives a `v1` signature (HMAC-SHA256). A secret is `whsec_` and the base64 of its
 * bytes, or any other text as UTF-8. A `v1a` signature (ed25519) for each of `keys` follows; receivers' libraries that
 * know only the first scheme skip these.
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

/** Why a secret cannot sign; `null` if it can. It must be standard base64, because receivers' libraries read no other. */
export function secretIssue(secret: string): string | null {
  if (secret === '') return 'it is empty';
  if (!secret.startsWith(prefix)) return null;
  const encoded = secret.slice(prefix.length);
  return Buffer.from(encoded, 'base64').toString('base64') === encoded && encoded !== ''
    ? null
    : `what follows \`${prefix}\` is not standard base64`;
}

/** The bytes of a secret: base64 after `whsec_`, any other text as it is. */
export const standardWebhookKey = (secret: string): Buffer =>
  secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), 'base64') : Buffer.from(secret, 'utf8');
