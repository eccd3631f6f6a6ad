import { secretCharsMax } from '../../crypto/secret-limit.ts';
import { AppError } from '../../errors.ts';

/** An access token and its metadata, as stored, sealed, between requests and runs. */
export interface Token {
  readonly accessToken: string;
  /** The time at which it expires, in milliseconds since the epoch; null: it is valid until it is rejected. */
  readonly expiresAtMs: number | null;
  readonly obtainedAtMs: number;
  /** The refresh token; null: the provider gave none, or the kind has none. */
  readonly refreshToken: string | null;
  /** `tokenResponse.metadata` and `callback.metadata`; requests see it as `auth`. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /**
   * The response to the login of a session, so that the next login can be a conditional request; absent: nothing is
   * stored.
   */
  readonly login?: LoginResponse;
}

/** The response that began a session. */
export interface LoginResponse {
  /** The hash of the request that it belongs to. */
  readonly requestKey: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Decoded. */
  readonly body: unknown;
}

/** The token of a source. Call it for each request and keep no token longer: any process may replace it at any time. */
export interface TokenSource {
  /** The token to use now; a missing one is obtained, one about to expire refreshed. */
  current(signal: AbortSignal): Promise<Token>;
  /** A token other than `rejected`, which the API refused. */
  refresh(signal: AbortSignal, rejected: Token): Promise<Token>;
}

/**
 * Whether `token` lasts longer than `bufferMs` from now. For a token whose lifetime is less than twice the buffer, half
 * of its lifetime is used: otherwise every request would replace it.
 */
export function isFresh(token: Token, { nowMs, bufferMs }: { readonly nowMs: number; readonly bufferMs: number }) {
  if (token.expiresAtMs === null) return true;
  const lifeMs = token.expiresAtMs - token.obtainedAtMs;
  return token.expiresAtMs - nowMs > Math.min(bufferMs, lifeMs / 2);
}

/** Throws `source_rejected` for a token that no request could carry. */
export function limitToken(token: string): void {
  if (token.length <= secretCharsMax) return;
  const message = `The API returned a token of ${token.length} characters, more than ${secretCharsMax}: correct where the spec reads it.`;
  throw new AppError('source_rejected', message);
}
