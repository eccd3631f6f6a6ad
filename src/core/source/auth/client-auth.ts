import { randomUUID } from 'node:crypto';
import { type ClientAuth, ClientSecretPost, None } from 'oauth4webapi';
import { algorithmOf, parsePrivateKey } from './private-key.ts';
import { signJwt } from './signed-jwt.ts';

/** Client authentication at the token endpoint (RFC 6749 2.3, RFC 7523 2.2, OpenID Connect Core 9). */
export type ClientAuthMethod = 'basic' | 'post' | 'private_key_jwt' | 'none';

interface ProofContext {
  /** Masks values derived from the secret. */
  readonly mask: (secret: string) => void;
  readonly now: () => Date;
}

/**
 * `secret` is the client secret or, for `private_key_jwt`, the private key; the request throws `auth_failed` if that is
 * invalid.
 */
export function clientAuth(method: ClientAuthMethod, secret: string, context: ProofContext): ClientAuth {
  switch (method) {
    case 'basic':
      return basic(secret, context);
    case 'post':
      return ClientSecretPost(secret);
    case 'none':
      return None();
    case 'private_key_jwt':
      return privateKeyJwt(secret, context);
  }
}

/** The library's version writes `-`, `_` and `.` as `%2D`, `%5F` and `%2E`, which many servers do not decode. */
const basic =
  (secret: string, { mask }: ProofContext): ClientAuth =>
  (_server, client, _form, headers) => {
    const pair = `${formEncode(client.client_id)}:${formEncode(secret)}`;
    mask(pair);
    headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`);
  };

/** Form-encodes each half so that neither contains a colon (RFC 6749 2.3.1). */
const formEncode = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);

/** Short, because an assertion is used at once. */
const assertionSeconds = 60;

/**
 * The library calls `EdDSA` `Ed25519` (RFC 9864), unknown to most servers, and adds `nbf`, which servers with a slow
 * clock reject.
 */
const privateKeyJwt =
  (secret: string, { mask, now }: ProofContext): ClientAuth =>
  async ({ issuer: aud }, { client_id: id }, form) => {
    const place = 'auth.clientSecret';
    const { key, keyId } = parsePrivateKey(secret, place);
    const algorithm = algorithmOf(key, place);
    const claims = { iss: id, sub: id, aud, jti: randomUUID() };
    const parts = { algorithm, key, keyId, claims, now: now(), ttlSeconds: assertionSeconds };
    const { token: assertion } = await signJwt(parts, place);
    mask(assertion);
    form.set('client_id', id);
    form.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    form.set('client_assertion', assertion);
  };
