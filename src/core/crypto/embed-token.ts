import { randomUUID } from 'node:crypto';
import { decodeJwt } from 'jose';
import type { RingKey } from './secret-box.ts';
import { signToken, type TokenKind, verifyToken } from './signed-token.ts';

export interface EmbedSigner {
  readonly keys: readonly RingKey[];
  readonly issuer: string;
}

/** What a token may do with its connection; every one may read. */
export const embedScopes = ['read', 'sync', 'pause', 'reauthorize'] as const;
export type EmbedScope = (typeof embedScopes)[number];

export interface EmbedSubject {
  readonly orgId: string;
  readonly connectionId: string;
  readonly scopes: readonly EmbedScope[];
}

/** The longest life of a token in seconds. */
export const embedSecondsMax = 3600;

const kindOf = ({ issuer }: EmbedSigner): TokenKind => ({
  type: 'embed+jwt',
  audience: 'embed',
  issuer,
  clockToleranceSeconds: 5,
});

/** A token for a browser, valid for one connection; `expiresAt` in epoch seconds. */
export async function signEmbedToken(
  signer: EmbedSigner,
  { orgId, connectionId, scopes, ttlSeconds }: EmbedSubject & { readonly ttlSeconds: number },
): Promise<{ readonly token: string; readonly expiresAt: number }> {
  const claims = { sub: connectionId, org: orgId, jti: randomUUID(), scopes: [...new Set(['read', ...scopes])] };
  const token = await signToken(signer.keys, kindOf(signer), { claims, ttlSeconds });
  const { exp } = decodeJwt(token);
  if (exp === undefined) throw new Error('A signed token says when it expires.');
  return { token, expiresAt: exp };
}

/** The subject of a token; `null` if it is not ours, was altered, has expired, or was issued for too long. */
export async function verifyEmbedToken(signer: EmbedSigner, token: string): Promise<EmbedSubject | null> {
  const claims = await verifyToken(signer.keys, kindOf(signer), { token, requiredClaims: ['sub', 'org'] });
  const { sub, org, iat, exp, scopes } = claims ?? {};
  if (sub === undefined || typeof org !== 'string' || iat === undefined || exp === undefined) return null;
  // One of a version before has no scopes.
  const named = Array.isArray(scopes) ? scopes : [];
  const known = embedScopes.filter((scope) => scope === 'read' || named.includes(scope));
  return exp - iat <= embedSecondsMax ? { orgId: org, connectionId: sub, scopes: known } : null;
}
