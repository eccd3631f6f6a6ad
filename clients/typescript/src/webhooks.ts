/** Verifies that a webhook comes from the service: https://www.standardwebhooks.com, by WebCrypto. */
import type { EventData, EventEnvelope } from './api.gen.ts';
import { webCrypto } from './web-crypto.ts';

/** An event that the service sends; `type` decides what `data` is. */
export type WebhookEvent = {
  [Type in keyof EventData]: Omit<EventEnvelope, 'type'> & { type: Type; data: EventData[Type] };
}[keyof EventData];

/** Headers as `Request` or Node has them. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** How requests are verified. */
export interface VerifyOptions {
  /**
   * The secrets of the endpoint (`whsec_…`), or its public keys (`whpk_…`) where it signs by `v1a` too. One that fits is
   * enough, so give the old and the new one while a secret is replaced.
   */
  readonly secrets: string | readonly string[];
  /** How far the time of the request may be from now, seconds. 300 unless given. */
  readonly toleranceSeconds?: number;
  /** Now, ms since the epoch; for tests. */
  readonly now?: number;
}

/** The request is not one of the service, not for this endpoint, or too old. Respond with 400. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

/**
 * The event in a request. `body` is what arrived, byte for byte: not parsed, not printed again. Throws
 * {@link WebhookVerificationError}.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  { secrets, toleranceSeconds = 300, now = Date.now() }: VerifyOptions,
): Promise<WebhookEvent> {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headerOf(headers, name),
  );
  if (!id || !timestamp || !signatures) {
    throw new WebhookVerificationError('The headers webhook-id, webhook-timestamp and webhook-signature are required.');
  }
  if (!/^\d+$/.test(timestamp)) throw new WebhookVerificationError('webhook-timestamp is not a number of seconds.');
  if (Math.abs(now / 1000 - Number(timestamp)) > toleranceSeconds) {
    throw new WebhookVerificationError('The request is too old or from the future: compare the clocks.');
  }
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  const verifiers = await Promise.all((typeof secrets === 'string' ? [secrets] : secrets).map(verifierOf));
  for (const [scheme, signature] of signatures.split(' ').map(schemeAndValue)) {
    for (const verifier of verifiers) {
      if (verifier.scheme === scheme && signature !== null && (await verifier.verify(signature, signed))) {
        return parsed(bytes);
      }
    }
  }
  throw new WebhookVerificationError(
    'No signature fits: is this the secret of this endpoint, and the body as it came?',
  );
}

type Bytes = Uint8Array<ArrayBuffer>;

interface Verifier {
  readonly scheme: 'v1' | 'v1a';
  /** In constant time. */
  verify(signature: Bytes, signed: Bytes): Promise<boolean>;
}

async function verifierOf(secret: string): Promise<Verifier> {
  const { subtle } = await webCrypto();
  const isPublic = secret.startsWith('whpk_');
  const bytes = secret.startsWith('whsec_') || isPublic ? decoded(secret.slice(secret.indexOf('_') + 1)) : utf8(secret);
  if (bytes === null || bytes.length === 0) throw new TypeError('A secret is whsec_ or whpk_ and base64.');
  const form = isPublic ? { name: 'Ed25519' } : { name: 'HMAC', hash: 'SHA-256' };
  const key = await subtle.importKey('raw', bytes, form, false, ['verify']);
  return {
    scheme: isPublic ? 'v1a' : 'v1',
    verify: (signature, signed) => subtle.verify(form.name, key, signature, signed),
  };
}

/** Null instead of a value that is no base64: such a signature fits nothing. */
function schemeAndValue(text: string): readonly [scheme: string, value: Bytes | null] {
  const [scheme = '', value = ''] = text.split(',', 2);
  return [scheme, decoded(value)];
}

function headerOf(headers: WebhookHeaders, name: string): string | null {
  if (headers instanceof Headers) return headers.get(name);
  const [, value] = Object.entries(headers).find(([given]) => given.toLowerCase() === name) ?? [];
  return typeof value === 'string' ? value : (value?.[0] ?? null);
}

const utf8 = (text: string): Bytes => new TextEncoder().encode(text);

function decoded(base64: string): Bytes | null {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function joined(first: Uint8Array, second: Uint8Array): Bytes {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

function parsed(bytes: Uint8Array): WebhookEvent {
  return JSON.parse(new TextDecoder().decode(bytes)) as WebhookEvent;
}
