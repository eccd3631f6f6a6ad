import { randomBytes } from 'node:crypto';

const prefix = 'whsec_';
const [bytesMin, bytesMax, bytesMade] = [24, 64, 32];
const form = `expected \`${prefix}\` and the standard base64 of ${bytesMin} to ${bytesMax} bytes`;

/** A new secret in the notation of Standard Webhooks: 32 random bytes. */
export const makeSigningSecret = (): string => `${prefix}${randomBytes(bytesMade).toString('base64')}`;

/**
 * Why a caller's own secret is refused; `null` if it is accepted. Stricter than signing requires: receivers' libraries
 * throw on base64url, and silently read hex as base64 of other bytes.
 */
export function signingSecretIssue(secret: string): string | null {
  if (!secret.startsWith(prefix)) return form;
  const encoded = secret.slice(prefix.length);
  if (/^[0-9a-f]+$|^[0-9A-F]+$/.test(encoded)) return `${form}, not hex`;
  if (/[-_]/.test(encoded)) return `${form}: write + and / where base64url has - and _`;
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64') !== encoded) return `${form}, padded with = to a multiple of 4 characters`;
  return bytes.length >= bytesMin && bytes.length <= bytesMax ? null : `${form}, not of ${bytes.length}`;
}
