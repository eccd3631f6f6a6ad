import { createHmac, randomUUID } from 'node:crypto';
import { AppError } from '../../errors.ts';
import type { HttpRequest } from '../../model/http.ts';
import type { HmacAuth } from '../../spec/schema/auth-schema.ts';
import { type Credentials, inHeaders } from './auth.ts';
import { type AuthContext, authValues } from './auth-values.ts';

/**
 * The headers of a signed request. Templates see the request as it is sent: `method`, `path` and `query` in their
 * encoded form (the query without `?`), `body` (empty without one), and `timestamp` (whole seconds since the epoch) and
 * `nonce`, which are new in each attempt; headers also see `signature`. Throws `auth_failed`, `spec_invalid`.
 */
export async function hmacCredentials(
  auth: HmacAuth,
  request: Pick<HttpRequest, 'method' | 'url' | 'body'>,
  { now, ...context }: AuthContext & { readonly now: () => Date },
): Promise<Credentials> {
  const { method, url, body = '' } = request;
  const signed = {
    method,
    path: url.pathname,
    query: url.search.slice(1),
    body,
    timestamp: Math.floor(now().getTime() / 1000),
    nonce: randomUUID(),
  };
  const values = authValues(context, signed);
  const secret = await values.secret(auth.secret, 'auth.secret');
  const text = await values.text(auth.stringToSign);
  if (text === null) {
    throw new AppError(
      'spec_invalid',
      'auth.stringToSign has a placeholder without a value. Use only what every request has.',
    );
  }
  const signature = createHmac(auth.algorithm, secret).update(text, 'utf8').digest(auth.encoding);
  context.mask(signature);
  return inHeaders(await authValues(context, { ...signed, signature }).texts(auth.headers));
}
