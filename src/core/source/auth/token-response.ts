import { AppError } from '../../errors.ts';
import { valueAt } from '../../json/dotted-path.ts';
import type { OauthClientCredentials } from '../../spec/schema/auth-schema.ts';
import { limitToken, type Token } from './token.ts';

export interface TokenResponseSettings extends Pick<OauthClientCredentials, 'tokenResponse'> {
  readonly defaultTtlSeconds: number;
}

/** Places defined by RFC 6749 5.1, for kinds that cannot configure them. */
export const standardResponse: TokenResponseSettings = {
  tokenResponse: {
    accessToken: 'access_token',
    refreshToken: 'refresh_token',
    expiresIn: 'expires_in',
    expiresInUnit: 'seconds',
    metadata: {},
  },
  defaultTtlSeconds: 3600,
};

/** Contains only values of the response itself; throws `source_rejected` if the access token is missing or too long. */
export function readTokenResponse(
  body: unknown,
  { tokenResponse, defaultTtlSeconds }: TokenResponseSettings,
  now: Date,
): Token {
  const accessToken = valueAt(body, tokenResponse.accessToken);
  if (typeof accessToken !== 'string' || accessToken === '') {
    const place = `"${tokenResponse.accessToken}"`;
    throw new AppError(
      'source_rejected',
      `The response of the token endpoint has no text at ${place}: correct tokenResponse in the spec.`,
    );
  }
  limitToken(accessToken);
  const refreshToken = valueAt(body, tokenResponse.refreshToken);
  const said = Number(valueAt(body, tokenResponse.expiresIn) ?? Number.NaN) * unitMs[tokenResponse.expiresInUnit];
  // 0 means "does not expire" or "not known", never that the token has already expired.
  const lifeMs = said > 0 && Number.isSafeInteger(Math.ceil(said)) ? said : defaultTtlSeconds * 1000;
  const metadata = Object.entries(tokenResponse.metadata).map(([name, path]) => [name, valueAt(body, path)]);
  return {
    accessToken,
    expiresAtMs: now.getTime() + lifeMs,
    obtainedAtMs: now.getTime(),
    refreshToken: typeof refreshToken === 'string' && refreshToken !== '' ? refreshToken : null,
    metadata: Object.fromEntries(metadata),
  };
}

const unitMs = { seconds: 1000, milliseconds: 1, minutes: 60_000, hours: 3_600_000 } as const;
