import { createHash } from 'node:crypto';
import type { HttpClient } from '../../model/http.ts';
import type { TokenAuth } from '../../spec/schema/auth-schema.ts';
import { loggingBlocked } from '../request/log-blocked.ts';
import type { Source } from '../source.ts';
import { authValues } from './auth-values.ts';
import { grantKey, refreshGrant } from './authorization-code.ts';
import { exchangeJwt, makeJwt } from './jwt-token.ts';
import { createLocalTokens } from './local-tokens.ts';
import { requestClientToken } from './oauth-token.ts';
import { requestSession } from './session-token.ts';
import { createSharedTokens, type SharedTokensOptions } from './shared-tokens.ts';
import type { TokenSource } from './token.ts';
import type { TokenStore } from './token-store.ts';

/** Tokens are replaced this long before they expire, for kinds that cannot configure it. */
const bufferMs = 120_000;

type Described = Pick<Source, 'auth' | 'http' | 'params' | 'secrets' | 'run' | 'evaluator' | 'mask' | 'now'>;

interface TokenPlaces {
  readonly client: HttpClient;
  readonly store: TokenStore;
  /** Resource with its own auth, or `null` for the spec's. */
  readonly resourceKey: string | null;
}

/**
 * Requests nothing yet, and returns `null` for auth kinds without tokens. Throws `auth_failed`, or `spec_invalid` if
 * the auth block cannot use the connection's values.
 */
export async function openTokens(source: Described, places: TokenPlaces): Promise<TokenSource | null> {
  const { auth } = source;
  return 'put' in auth ? await tokensOf(auth, source, places) : null;
}

async function tokensOf(
  auth: TokenAuth,
  source: Described,
  { client, store, resourceKey }: TokenPlaces,
): Promise<TokenSource> {
  const { mask, now } = source;
  const context = { client, values: authValues(source), now };
  const shared = (request: SharedTokensOptions['request'], ms = bufferMs): TokenSource =>
    createSharedTokens({ store, request, madeFor: madeFor(source), bufferMs: ms, mask, now });
  switch (auth.kind) {
    case 'oauth2_client_credentials':
      return shared(() => requestClientToken(auth, context), auth.refresh.expiryBufferSeconds * 1000);
    case 'session':
      // Unconditional after a refusal: a 304 would return the rejected token again.
      return shared((previous, { isRefused }) =>
        requestSession(auth, source, { ...context, previous: isRefused ? null : previous }),
      );
    case 'jwt': {
      const { exchange } = auth;
      if (exchange) return shared(() => exchangeJwt(auth, exchange, context));
      return createLocalTokens({ make: () => makeJwt(auth, context), mask, now });
    }
    case 'oauth2_authorization_code':
      return createSharedTokens({
        store,
        request: (previous) => refreshGrant(auth, previous, { ...context, resourceKey }),
        madeFor: await loggingBlocked(client, 'POST', () => grantKey(auth, context.values)),
        bufferMs: auth.refresh.expiryBufferSeconds * 1000,
        mask,
        now,
      });
  }
}

/** Hash of all inputs of a token request, sealed with the token because some are secret. */
function madeFor({ auth, http, params, secrets }: Described): string {
  const content = JSON.stringify([auth, http.baseUrl ?? null, params, secrets]);
  return createHash('sha256').update(content).digest('base64url');
}
