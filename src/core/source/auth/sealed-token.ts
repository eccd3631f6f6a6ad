import * as v from 'valibot';
import type { SealedSecret, SecretBox, SecretContext } from '../../crypto/secret-box.ts';
import type { StoredToken } from './token-store.ts';

/** The owner of a token. */
type TokenOwner = Omit<SecretContext, 'kind'>;

/** A token as it is stored. */
export const sealToken = (box: SecretBox, token: StoredToken, owner: TokenOwner): SealedSecret =>
  box.seal(JSON.stringify(token), { ...owner, kind: 'oauth-token' });

/** The token in its stored form. Throws when the key ring cannot open it. */
export const openToken = (box: SecretBox, sealed: SealedSecret, owner: TokenOwner): StoredToken =>
  v.parse(Stored, JSON.parse(box.open(sealed, { ...owner, kind: 'oauth-token' })));

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
