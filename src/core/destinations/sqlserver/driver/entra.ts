/** Tokens of Entra ID, with which an application logs in to a database (client credentials, RFC 6749 4.4). */

import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { AppError } from '../../../errors.ts';
import type { HttpClientOptions } from '../../../http/client.ts';
import { ThrottledError } from '../../../model/throttled.ts';
import { isFresh, type Token } from '../../../source/auth/token.ts';
import {
  createTokenClient,
  decodeTokenResponse,
  sendTokenRequest,
  tokenTransport,
} from '../../../source/auth/token-client.ts';
import { readTokenResponse, standardResponse } from '../../../source/auth/token-response.ts';
import { entraScopes } from '../../../spec/schema/entra-hosts.ts';
import { type EntraClient } from './entra-client.ts';

export interface EntraDeps extends Pick<HttpClientOptions, 'logCall' | 'secrets'> {
  readonly guard: HttpClientOptions['egress'];
  readonly orgId: string;
}

export interface EntraToken {
  readonly token: string;
  readonly isKept: boolean;
}

/** Milliseconds before its end when a token is replaced; it lasts for an hour or more. */
const bufferMs = 5 * 60_000;

/** The most recently used tokens of all orgs, 2 KB each. Only this process has them, and no org sees another's. */
const kept = new LRUCache<string, Token>({ max: 1000 });

/**
 * Returns the client's kept token while it lasts, or a new one if that is the `refused` one.
 *
 * Throws `destination_login` when Entra ID refuses the client, `destination_unavailable`, `destination_rejected` for a
 * meaningless response, `egress_blocked`.
 */
export async function entraToken(client: EntraClient, deps: EntraDeps, refused?: string): Promise<EntraToken> {
  const key = keyOf(client, deps.orgId);
  const known = kept.get(key);
  if (known && known.accessToken !== refused && isFresh(known, { nowMs: Date.now(), bufferMs })) {
    return { token: known.accessToken, isKept: true };
  }
  const token = await fetchToken(client, deps);
  kept.set(key, token);
  return { token: token.accessToken, isKept: false };
}

/** Only the holder of the secret gets a kept token. */
const keyOf = ({ authorityHost, tenantId, clientId, clientSecret }: EntraClient, orgId: string): string =>
  createHash('sha256')
    .update(JSON.stringify([orgId, authorityHost, tenantId, clientId, clientSecret]))
    .digest('base64');

async function fetchToken(client: EntraClient, { guard, logCall, secrets }: EntraDeps): Promise<Token> {
  const { authorityHost, tenantId, clientId, clientSecret } = client;
  await using http = createTokenClient({ egress: guard, logCall, secrets: [...secrets, clientSecret] });
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    scope: entraScopes[authorityHost],
  });
  try {
    const { body } = await sendTokenRequest(http, {
      ...tokenTransport,
      method: 'POST',
      url: new URL(`https://${authorityHost}/${tenantId}/oauth2/v2.0/token`),
      headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
    });
    return readTokenResponse(decodeTokenResponse(body), standardResponse, new Date());
  } catch (error) {
    throw asDestinationError(error);
  }
}

type Failure = readonly ['destination_login' | 'destination_unavailable' | 'destination_rejected', string];

const unavailable: Failure = [
  'destination_unavailable',
  'Entra ID issued no token for the sqlserver destination; try again later.',
];

/** Maps failures of a token request to errors of a destination, whose credentials are not those of `auth`. */
const failures: ReadonlyMap<string, Failure> = new Map<string, Failure>([
  [
    'auth_failed',
    [
      'destination_login',
      'Entra ID issued no token for the sqlserver destination; correct tenantId, clientId and clientSecret.',
    ],
  ],
  ['source_unavailable', unavailable],
  [
    'source_rejected',
    [
      'destination_rejected',
      'The server at the address of Entra ID issued no token; check authorityHost and tenantId.',
    ],
  ],
]);

function asDestinationError(error: unknown): unknown {
  const isThrottled = error instanceof ThrottledError;
  const failure = isThrottled ? unavailable : error instanceof AppError ? failures.get(error.code) : undefined;
  return failure ? new AppError(...failure, { cause: error }) : error;
}
