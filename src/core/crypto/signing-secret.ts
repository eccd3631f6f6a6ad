import { randomBytes } from 'node:crypto';

const prefix = 'whsec_';
const [bytesMin, bytesMax, bytesMade] = [24, 64, 32];
const form = `expected \`${prefix}\` and the standard base64 of ${bytesMin} to ${bytesMax} bytes`;

/** A fresh secret as Standard Webhooks writes it: 32 random bytes. */
export const makeSigningSecret = (): string => `${prefix}${randomBytes(bytesMade).toString('base64')}`;

/**
 * Why a secret that a caller brings is refused; null: it is taken. Stricter than what can sign: receivers' libraries
 * throw on base64url, and take hex for base64 of other bytes without a word.
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
