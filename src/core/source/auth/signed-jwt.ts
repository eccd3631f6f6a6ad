import type { KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import { AppError } from '../../errors.ts';

export interface JwtParts {
  readonly algorithm: string;
  /** Bytes for HS algorithms. */
  readonly key: KeyObject | Uint8Array;
  readonly keyId: string | null;
  /** May replace `iat` and `exp`. */
  readonly claims: Readonly<Record<string, unknown>>;
  readonly now: Date;
  readonly ttlSeconds: number;
}

export interface SignedJwt {
  readonly token: string;
  readonly expiresAtMs: number;
}

/** Throws `auth_failed`, naming `place`, if the key does not fit the algorithm. */
export async function signJwt(parts: JwtParts, place: string): Promise<SignedJwt> {
  const iat = Math.floor(parts.now.getTime() / 1000);
  const exp = typeof parts.claims['exp'] === 'number' ? parts.claims['exp'] : iat + parts.ttlSeconds;
  const claims = { iat, ...parts.claims, exp };
  const header = { alg: parts.algorithm, typ: 'JWT', ...(parts.keyId === null ? {} : { kid: parts.keyId }) };
  try {
    const token = await new SignJWT(claims).setProtectedHeader(header).sign(parts.key);
    return { token, expiresAtMs: exp * 1000 };
  } catch (cause) {
    const message = `${place} does not fit the algorithm ${parts.algorithm}. Set a key for that algorithm.`;
    throw new AppError('auth_failed', message, { cause });
  }
}
