import { randomUUID } from 'node:crypto';
import { algorithmOf, parsePrivateKey } from './private-key.ts';
import { signJwt } from './signed-jwt.ts';

/** How a client proves itself to its token endpoint (RFC 6749 2.3, RFC 7523 2.2, OpenID Connect Core 9). */
export type ClientAuthMethod = 'basic' | 'post' | 'private_key_jwt' | 'none';

/** What a token request carries for it. */
export interface ClientAuth {
  readonly headers: Readonly<Record<string, string>>;
  readonly fields: Readonly<Record<string, string>>;
  /** What must be masked besides the secret itself. */
  readonly secretValues: readonly string[];
}

/** Seconds that an assertion is good for; it is used at once. */
const assertionSeconds = 60;

/** `secret` is the client secret, for `private_key_jwt` the private key; `none` has no use for one. Throws `auth_failed` when that is no key. */
export async function clientAuth(
  method: ClientAuthMethod,
  client: { readonly id: string; readonly secret: string },
  endpoint: { readonly url: URL; readonly now: Date },
): Promise<ClientAuth> {
  const { id, secret } = client;
  switch (method) {
    case 'basic': {
      const pair = `${formEncode(id)}:${formEncode(secret)}`;
      const authorization = `Basic ${Buffer.from(pair).toString('base64')}`;
      return { headers: { authorization }, fields: {}, secretValues: [pair] };
    }
    case 'post':
      return { headers: {}, fields: { client_id: id, client_secret: secret }, secretValues: [] };
    case 'none':
      return { headers: {}, fields: { client_id: id }, secretValues: [] };
    case 'private_key_jwt': {
      const assertion = await signAssertion(client, endpoint);
      const fields = { client_id: id, client_assertion_type: assertionType, client_assertion: assertion };
      return { headers: {}, fields, secretValues: [assertion] };
    }
  }
}

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

async function signAssertion(
  { id, secret }: { readonly id: string; readonly secret: string },
  { url, now }: { readonly url: URL; readonly now: Date },
): Promise<string> {
  const place = 'auth.clientSecret';
  const { key, keyId } = parsePrivateKey(secret, place);
  const claims = { iss: id, sub: id, aud: url.href, jti: randomUUID() };
  const algorithm = algorithmOf(key, place);
  const { token } = await signJwt({ algorithm, key, keyId, claims, now, ttlSeconds: assertionSeconds }, place);
  return token;
}

/** RFC 6749 2.3.1: both halves are form-encoded, so that neither holds a colon. */
const formEncode = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);
