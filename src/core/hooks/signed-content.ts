import { createHmac, timingSafeEqual } from 'node:crypto';
import { standardWebhookKey } from '../crypto/standard-webhook.ts';
import type { Verification } from '../resources/verification-schema.ts';

/** Header values by name in any case; `null` if absent. */
export type HeaderLookup = (name: string) => string | null;

export interface Claim {
  /** Time of the request in whole seconds; `null` if the kind has no time, empty if it is missing. */
  readonly timestamp: string | null;
  /** Signatures, any of which may be right: an upstream that rotates its secret signs with both. */
  readonly signatures: readonly string[];
  readonly algorithm: string;
  readonly encoding: 'hex' | 'base64';
  readonly key: string | Buffer;
  /** Text signed before the body. */
  readonly prefix: string;
  readonly toleranceSeconds: number;
}

export type SignedVerification = Exclude<Verification, { readonly kind: 'none' | 'header_secret' }>;

export const signsBody = (verification: Verification): verification is SignedVerification =>
  verification.kind !== 'none' && verification.kind !== 'header_secret';

const toleranceSeconds = 300;
const sha256Hex = { algorithm: 'sha256', encoding: 'hex', toleranceSeconds } as const;
const sha256Base64 = { ...sha256Hex, encoding: 'base64' } as const;

export function readClaim(verification: SignedVerification, header: HeaderLookup, secret: string): Claim {
  switch (verification.kind) {
    case 'github': {
      const signatures = signaturesIn(header('x-hub-signature-256'), 'sha256=');
      return { ...sha256Hex, timestamp: null, signatures, key: secret, prefix: '' };
    }
    case 'shopify': {
      const signatures = signaturesIn(header('x-shopify-hmac-sha256'), '');
      return { ...sha256Base64, timestamp: null, signatures, key: secret, prefix: '' };
    }
    case 'slack': {
      const timestamp = header('x-slack-request-timestamp') ?? '';
      const signatures = signaturesIn(header('x-slack-signature'), 'v0=');
      return { ...sha256Hex, timestamp, signatures, key: secret, prefix: `v0:${timestamp}:` };
    }
    case 'stripe': {
      const parts = (header('stripe-signature') ?? '').split(',').map((part) => part.trim());
      const timestamp = parts.find((part) => part.startsWith('t='))?.slice(2) ?? '';
      const signatures = parts.flatMap((part) => signaturesIn(part, 'v1='));
      return { ...sha256Hex, timestamp, signatures, key: secret, prefix: `${timestamp}.` };
    }
    case 'standard_webhooks': {
      const timestamp = header('webhook-timestamp') ?? '';
      const entries = (header('webhook-signature') ?? '').split(' ');
      const signatures = entries.flatMap((entry) => signaturesIn(entry, 'v1,'));
      const prefix = `${header('webhook-id') ?? ''}.${timestamp}.`;
      return { ...sha256Base64, timestamp, signatures, key: standardWebhookKey(secret), prefix };
    }
    case 'hmac': {
      const { algorithm, encoding, content, timestampHeader, toleranceSeconds: tolerance } = verification;
      // A time that is not signed proves nothing; older hooks may still name one.
      const isTimed = content === 'timestamp.body' && timestampHeader !== null;
      const timestamp = isTimed ? (header(timestampHeader) ?? '') : null;
      return {
        algorithm,
        encoding,
        timestamp,
        signatures: signaturesIn(header(verification.header), verification.prefix),
        key: secret,
        prefix: content === 'body' ? '' : `${timestamp ?? ''}.`,
        toleranceSeconds: tolerance,
      };
    }
  }
}

const signaturesIn = (value: string | null, prefix: string): readonly string[] =>
  value?.startsWith(prefix) && value.length > prefix.length ? [value.slice(prefix.length)] : [];

/** Whether one of the signatures matches the body; takes the same time for every wrong one of the right length. */
export function isSigned({ algorithm, encoding, key, prefix, signatures }: Claim, body: Uint8Array): boolean {
  const expected = createHmac(algorithm, key).update(prefix, 'utf8').update(body).digest();
  return signatures.some((signature) => isSame(Buffer.from(signature, encoding), expected));
}

/** Bytes that the signature covers; `null` if the kind signs nothing or the hook has no secret. */
export const signedBytes = (
  verification: Verification,
  secret: string | null,
  { header, body }: { readonly header: HeaderLookup; readonly body: Uint8Array },
): Uint8Array | null =>
  signsBody(verification) && secret !== null
    ? Buffer.concat([Buffer.from(readClaim(verification, header, secret).prefix), body])
    : null;

const isSame = (given: Uint8Array, expected: Uint8Array): boolean =>
  given.byteLength === expected.byteLength && timingSafeEqual(given, expected);
