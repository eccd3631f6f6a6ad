import { isSameText } from '../crypto/same-text.ts';
import type { Verification } from '../resources/verification-schema.ts';
import { type HeaderLookup, isSigned, readClaim } from './signed-content.ts';

/** A request as received; it is verified before any parsing. */
export interface ReceivedRequest {
  readonly header: HeaderLookup;
  readonly body: Uint8Array;
  readonly receivedAt: Date;
}

/**
 * Why a request is not from the upstream, as text for the hook's owner; `null` if it is. A signed kind needs its time:
 * without it, a request could be repeated for ever. Without a secret, only kind `none` passes.
 */
export function verifyRequest(
  verification: Verification,
  secret: string | null,
  { header, body, receivedAt }: ReceivedRequest,
): string | null {
  if (verification.kind === 'none') return null;
  if (secret === null) return 'the hook has no secret';
  if (verification.kind === 'header_secret') return headerIssue(header(verification.header), secret);
  const claim = readClaim(verification, header, secret);
  if (claim.signatures.length === 0) return 'the signature is missing';
  if (claim.timestamp === '') return 'the timestamp is missing';
  if (verification.kind === 'standard_webhooks' && !header('webhook-id')) return 'the id is missing';
  if (!isSigned(claim, body)) return 'the signature is wrong';
  return claim.timestamp === null ? null : timeIssue(claim.timestamp, claim.toleranceSeconds, receivedAt);
}

function headerIssue(given: string | null, secret: string): string | null {
  if (given === null) return 'the secret is missing';
  return isSameText(given, secret) ? null : 'the secret is wrong';
}

function timeIssue(timestamp: string, toleranceSeconds: number, now: Date): string | null {
  if (!/^\d{1,12}$/.test(timestamp)) return 'the timestamp is not in whole seconds';
  const apart = Math.abs(Math.floor(now.getTime() / 1000) - Number(timestamp));
  return apart <= toleranceSeconds ? null : `the timestamp differs by ${apart} s from the time of this service`;
}
