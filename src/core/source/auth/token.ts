import { secretCharsMax } from '../../crypto/secret-limit.ts';
import { AppError } from '../../errors.ts';

/** An access token and its metadata, stored sealed between requests and runs. */
export interface Token {
  readonly accessToken: string;
  /** Milliseconds since the epoch, or `null` if the token is valid until the API rejects it. */
  readonly expiresAtMs: number | null;
  readonly obtainedAtMs: number;
  readonly refreshToken: string | null;
  /** `tokenResponse.metadata` and `callback.metadata`, which requests see as `auth`. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Makes the next login of a session conditional. */
  readonly login?: LoginResponse;
}

export interface LoginResponse {
  readonly requestKey: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Ask for the token before each request, because any process may replace it at any time. */
export interface TokenSource {
  /** Obtains a missing token, and refreshes one about to expire. */
  current(signal: AbortSignal): Promise<Token>;
  /** Returns a token other than `rejected`, which the API refused. */
  refresh(signal: AbortSignal, rejected: Token): Promise<Token>;
}

/**
 * Whether the token lasts longer than `bufferMs`, or half its lifetime if that is shorter: otherwise every request
 * would replace a short-lived token.
 */
export function isFresh(token: Token, { nowMs, bufferMs }: { readonly nowMs: number; readonly bufferMs: number }) {
  if (token.expiresAtMs === null) return true;
  const lifeMs = token.expiresAtMs - token.obtainedAtMs;
  return token.expiresAtMs - nowMs > Math.min(bufferMs, lifeMs / 2);
}

/** Throws `source_rejected` for a token that is too long for a request. */
export function limitToken(token: string): void {
  if (token.length <= secretCharsMax) return;
  const message = `The API returned a token of ${token.length} characters, more than ${secretCharsMax}: correct where the spec reads it.`;
  throw new AppError('source_rejected', message);
}
