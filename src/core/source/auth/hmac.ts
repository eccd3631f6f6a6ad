import { createHmac, randomUUID } from 'node:crypto';
import { AppError } from '../../errors.ts';
import type { HttpRequest } from '../../model/http.ts';
import type { HmacAuth } from '../../spec/schema/auth-schema.ts';
import { type Credentials, inHeaders } from './auth.ts';
import { type AuthContext, authValues } from './auth-values.ts';

/**
 * Templates see the request as sent: `method`, encoded `path` and `query` (without `?`), and `body` (empty without
 * one). They also see `timestamp` (whole seconds since the epoch) and `nonce`, new in each attempt; headers also see
 * `signature`. Throws `auth_failed`, `spec_invalid`.
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
