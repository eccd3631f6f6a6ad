import type { HttpRequest } from '../../model/http.ts';
import type { Source } from '../source.ts';
import { type Credentials, leafTexts, staticCredentials, tokenCredentials } from './auth.ts';
import { authValues } from './auth-values.ts';
import { hmacCredentials } from './hmac.ts';
import type { Token } from './token.ts';

type Signed = Pick<Source, 'auth' | 'params' | 'secrets' | 'run' | 'evaluator'>;

/** Throws `auth_failed` if a secret is empty, or `spec_invalid`. */
export async function credentialsOf(
  source: Signed & Pick<Source, 'mask' | 'now'>,
  { request, token }: { readonly request: HttpRequest; readonly token: Token | null },
): Promise<Credentials> {
  const { auth } = source;
  if ('put' in auth) return tokenCredentials(auth, token?.accessToken ?? '');
  return auth.kind === 'hmac'
    ? await hmacCredentials(auth, request, source)
    : await staticCredentials(auth, authValues(source));
}

/**
 * Secrets and derived values that no log may show, known before the first request; throws `auth_failed` if one is
 * empty.
 */
export async function credentialValues(source: Signed): Promise<readonly string[]> {
  const { auth } = source;
  const found = new Set(leafTexts(source.secrets));
  const values = authValues({ ...source, mask: (secret) => void found.add(secret) });
  if (auth.kind === 'hmac') await values.secret(auth.secret, 'auth.secret');
  else if (!('put' in auth)) await staticCredentials(auth, values);
  else if (auth.kind === 'jwt') await values.secret(auth.key, 'auth.key');
  else if (auth.kind === 'oauth2_authorization_code' && auth.app !== undefined) return [...found];
  else if ('clientSecret' in auth) await values.secret(auth.clientSecret ?? '', 'auth.clientSecret');
  return [...found];
}
