import * as v from 'valibot';
import type { SealedSecret, SecretBox, SecretContext } from '../../crypto/secret-box.ts';
import type { StoredToken } from './token-store.ts';

type TokenOwner = Omit<SecretContext, 'kind'>;

/** A pending grant waits for confirmation; neither kind opens as the other. */
type TokenKind = 'oauth-token' | 'pending-grant';

export const sealToken = (
  box: SecretBox,
  token: StoredToken,
  owner: TokenOwner,
  kind: TokenKind = 'oauth-token',
): SealedSecret => box.seal(JSON.stringify(token), { ...owner, kind });

/** Throws if the key ring cannot open it. */
export const openToken = (
  box: SecretBox,
  sealed: SealedSecret,
  owner: TokenOwner,
  kind: TokenKind = 'oauth-token',
): StoredToken => v.parse(Stored, JSON.parse(box.open(sealed, { ...owner, kind })));

const Stored = v.object({
  accessToken: v.string(),
  expiresAtMs: v.nullable(v.number()),
  obtainedAtMs: v.number(),
  refreshToken: v.nullable(v.string()),
  metadata: v.record(v.string(), v.unknown()),
  madeFor: v.string(),
  login: v.exactOptional(
    v.object({
      requestKey: v.string(),
      status: v.number(),
      headers: v.record(v.string(), v.string()),
      body: v.unknown(),
    }),
  ),
});
