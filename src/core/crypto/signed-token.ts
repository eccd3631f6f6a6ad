import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import type { RingKey } from './secret-box.ts';

/** A token of another kind does not verify. */
export interface TokenKind {
  /** The `typ` of its header. */
  readonly type: string;
  readonly audience: string;
  /** The issuer; if absent, none is set or verified. */
  readonly issuer?: string;
  /** Seconds that a token stays valid after its expiry, for clock differences; 0 by default. */
  readonly clockToleranceSeconds?: number;
}

/** Signs a short-lived token that only this service reads (JWT, HS256), with the first key of the ring. */
export function signToken(
  ring: readonly RingKey[],
  kind: TokenKind,
  { claims, ttlSeconds }: { readonly claims: JWTPayload; readonly ttlSeconds: number },
): Promise<string> {
  const [current] = ring;
  if (!current) throw new Error('The key ring is empty: signing needs at least one key.');
  return new SignJWT(kind.issuer === undefined ? claims : { ...claims, iss: kind.issuer })
    .setProtectedHeader({ alg: 'HS256', typ: kind.type, kid: current.id })
    .setAudience(kind.audience)
    .setIssuedAt()
    .setExpirationTime(`${ttlSeconds} s`)
    .sign(current.key);
}

/** The claims of a token of that kind; `null` if it is invalid, altered, expired, or its key has left the ring. */
export async function verifyToken(
  ring: readonly RingKey[],
  kind: TokenKind,
  { token, requiredClaims }: { readonly token: string; readonly requiredClaims: string[] },
): Promise<JWTPayload | null> {
  try {
    const { payload } = await jwtVerify(token, ({ kid }) => keyOf(ring, kid), {
      algorithms: ['HS256'],
      typ: kind.type,
      audience: kind.audience,
      ...(kind.issuer === undefined ? {} : { issuer: kind.issuer }),
      clockTolerance: kind.clockToleranceSeconds ?? 0,
      requiredClaims: ['iat', 'exp', ...requiredClaims],
    });
    return payload;
  } catch (error) {
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}

function keyOf(ring: readonly RingKey[], kid: string | undefined): Uint8Array {
  const found = ring.find(({ id }) => id === kid);
  if (!found) throw new errors.JWKSNoMatchingKey();
  return found.key;
}
